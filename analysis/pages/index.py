"""All runs on one page, to search and to tick for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analysis.records.run_index import IndexedRun, index
from analysis.rendering import page_files


def write_index(store: Path) -> Path:
    """index.html in the store. Raises TcplabError with a remedy if it cannot be written."""
    runs = index(store)
    context = {"store": str(store), "runs": [_shown(store, run) for run in runs]}
    text = page_files.render("index.html", context)
    page_files.write(store, [("index.html", text.encode())], "report RUN_DIR")
    return store / "index.html"


def _shown(store: Path, run: IndexedRun) -> dict[str, Any]:
    return {
        "run": run,
        "page": run.page.relative_to(store).as_posix() if run.page else "",
        "folder": str(store / run.name),
        "words": _searched(run),
    }


def _searched(run: IndexedRun) -> str:
    words: Sequence[str] = (
        run.name,
        run.kind,
        run.status,
        run.parameters,
        run.verdict,
        run.network,
        run.started,
    )
    return " ".join(words).lower()
