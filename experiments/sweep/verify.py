"""A sweep repeated in a new store, and its rows and series compared byte by byte."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from shutil import copyfile
from typing import Any

from analysis.measures.sweep_folder import ROWS, SERIES
from experiments.run.verify import free_name, read_json
from experiments.sweep.definition import Plan
from experiments.sweep.results import GridSweep
from experiments.sweep.run import PointRunner, Watch, carry_out
from testbed.host.scratch import scratch
from topologies import untrusted
from topologies.errors import UsageError

_BEGIN = "./tcplab sweep "


@dataclass(frozen=True)
class SweepToRepeat:
    """A sweep as its files describe it: its command, manifest, and tables by name."""

    folder: Path
    command: str
    manifest: dict[str, Any]
    tables: dict[str, str]

    @classmethod
    def of(cls, folder: Path) -> SweepToRepeat:
        """Read the sweep in `folder`. Raises UsageError for one that cannot be repeated."""
        manifest, facts = (read_json(folder, name) for name in ("manifest.json", "sweep.json"))
        command = facts.get("command")
        if not isinstance(command, str) or not command.startswith(_BEGIN):
            raise UsageError("sweep.json has no command of a sweep.", "Run the sweep again.")
        try:
            tables = {ROWS: untrusted.text(folder, ROWS)}
            if series := untrusted.text_if_any(folder, SERIES):
                tables[SERIES] = series
        except (OSError, ValueError, untrusted.StrangeFile) as error:
            raise UsageError(
                f"'{folder}' has no {ROWS} that can be compared.", "Run the sweep again."
            ) from error
        return cls(folder, command, manifest, tables)

    @property
    def same(self) -> str:
        """The sentence if the tables are the same."""
        all_rows = " and ".join(
            f"all {max(0, len(text.splitlines()) - 1):,} rows of {name}"
            for name, text in self.tables.items()
        )
        return f"The same, byte by byte: {all_rows} came out again."


def repeat_sweep(known: SweepToRepeat, plan: Plan, runner: PointRunner, watch: Watch) -> str:
    """Run all points again and return the first difference, whose table is kept; else empty."""
    with scratch() as place:
        made = carry_out(GridSweep(plan), place, runner, watch)
        for name, text in known.tables.items():
            if difference := first_difference(text, (made / name).read_text(), name):
                kept = free_name(known.folder, ".csv")
                copyfile(made / name, kept)
                return f"{difference} The repeated rows are in {kept}."
    return ""


def first_difference(expected: str, repeated: str, name: str = ROWS) -> str:
    """Return the first line and column of a table that differ, but for keys; empty if equal."""
    head, *_ = csv.reader(expected.splitlines()[:1])
    lines = zip_longest(_measured(expected), _measured(repeated), fillvalue="")
    differing = ((at, old, new) for at, (old, new) in enumerate(lines, 1) if old != new)
    number, old, new = next(differing, (0, "", ""))
    if not number:
        return ""
    if not old or not new:
        return f"{name} ends before line {number}, {'as given' if new else 'repeated'}."
    cells = zip(head[1:], *csv.reader([old, new]), strict=False)
    column, before, now = next(
        (cell for cell in cells if cell[1] != cell[2]), ("", "another number of cells", "it")
    )
    where = f"{name} differs from line {number} on"
    return f"{where}: {column} was {before[:24]} and is {now[:24]}." if column else f"{where}."


def _measured(rows: str) -> list[str]:
    return [line.partition(",")[2] for line in rows.splitlines()]
