"""All runs on one page, to search and to tick for comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.records.run_index import IndexedRun, index
from analysis.rendering import page_files


def write_index(store: Path) -> Path:
    """Write index.html into the store. Raises TcplabError with a remedy if it cannot be written."""
    context = {"store": str(store), "runs": [_shown(store, run) for run in index(store)]}
    text = page_files.render("index.html", context)
    page_files.write(store, [("index.html", text.encode())], "report RUN_DIR")
    return store / "index.html"


def _shown(store: Path, run: IndexedRun) -> dict[str, Any]:
    words = (run.name, run.kind, run.status, run.parameters, run.verdict, run.network, run.started)
    return {
        "run": run,
        "page": run.page.relative_to(store).as_posix() if run.page else "",
        "folder": str(store / run.name),
        "words": " ".join(words).lower(),
    }
