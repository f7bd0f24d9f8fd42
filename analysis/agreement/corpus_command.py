"""`python -m analysis corpus FOLDER`: reads every capture in a folder with every reader."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from analysis.agreement.corpus import CorpusFinding, findings


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
def corpus(folder: Path) -> None:
    """Read all captures below FOLDER with both engines, tcptrace and tshark; say what differs.

    Fetches nothing; tcptrace and tshark are left out if they are not installed. Ends with 1 for a
    crash, or a difference between the engines.
    """
    console, captures = Console(), sorted(path for path in folder.rglob("*") if path.is_file())
    classes: dict[tuple[str, str], list[CorpusFinding]] = defaultdict(list)
    for number, capture in enumerate(captures, 1):
        print(f"{number} of {len(captures)}: {capture.name}", file=sys.stderr)
        for finding in findings(capture):
            classes[finding.kind, finding.name].append(finding)
    table = Table("reader", "class", "files", "times", "for example", title_justify="left")
    for (kind, name), found in sorted(classes.items()):
        files = len({finding.capture for finding in found})
        first = found[0]
        example = f"{first.capture.relative_to(folder)}: {first.example}"
        table.add_row(kind, name, str(files), str(sum(one.count for one in found)), example)
    console.print(table if classes else f"Nothing differs in {len(captures)} files.")
    sys.exit(1 if any(kind in ("crash", "engines") for kind, _ in classes) else 0)
