"""`--json` of run, sweep, reproduce and runs list: one schema (docs/run-directory.md)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

import testbed

_FORMAT = 1
_PAGES = ("report.html", "sweep.html", "reproduction.html")

AS_JSON = "Print one JSON document of the result; the words for people go to standard error."
json_option = click.option("--json", "as_json", is_flag=True, help=AS_JSON)


def print_results(folders: list[Path]) -> None:
    """Print the document of finished runs, sweeps or reproductions."""
    results = [_result(folder) for folder in folders]
    document = {"format": _FORMAT, "tcplab": testbed.VERSION, "results": results}
    click.echo(json.dumps(document, indent=1))


def _result(folder: Path) -> dict[str, Any]:
    manifest = _content(folder / "manifest.json") or {}
    page = next((name for name in _PAGES if (folder / name).exists()), None)
    return {
        "kind": manifest.get("kind", "run"),
        "folder": str(folder),
        "page": str(folder / page) if page else None,
        "manifest": {name: value for name, value in manifest.items() if name != "tools"},
        "claim": _content(folder / "claim.json"),
    }


def _content(file: Path) -> Any:
    return json.loads(file.read_text()) if file.exists() else None
