"""Whole commands of this checkout beside the same ones of another, in turns on one machine."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from rich.table import Table

from topologies.foundation.errors import CommandError, UsageError

_START = "tcplab"
COMMANDS = (
    "--help",
    "run sack --seed 1 --repeat 1",
    "sweep sack --seeds 20 --force",
    "run sack --seed 1 --repeat 1 --bw 100mbit --loss 0% --duration 10s",
)
"""What is compared: commands that every checkout has."""


@dataclass(frozen=True)
class CommandCost:
    """Seconds that a command took: by the clock, and of processors with all that it started."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class CommandComparison:
    """One command's costs in both checkouts, in the order of the turns."""

    command: str
    before: Sequence[CommandCost]
    now: Sequence[CommandCost]

    def ratio(self, figure: Callable[[CommandCost], float]) -> float:
        """Ours to the other's, of medians."""
        return median(map(figure, self.now)) / median(map(figure, self.before))


def compare(
    other: Path, ours: Path, times: int, tell: Callable[[str], None]
) -> list[CommandComparison]:
    """Each command `times` times in each checkout, in turns; before that once without the clock.

    A first start may install and build, and fills caches. Raises UsageError, CommandError.
    """
    if not (other / _START).is_file():
        raise UsageError(
            f"{other} is no checkout of tcplab.", "Name the folder of an older clone of it."
        )
    compared = []
    for line in COMMANDS:
        words = line.split()
        tell(f"{line}: first start")
        for place in (other, ours):
            cost_of(place, words)
        turns = []
        for turn in range(times):
            tell(f"{line}: turn {turn + 1} of {times}")
            turns.append((cost_of(other, words), cost_of(ours, words)))
        before, now = zip(*turns, strict=True)
        compared.append(CommandComparison(line, before, now))
    return compared


def cost_of(checkout: Path, words: Sequence[str]) -> CommandCost:
    """Carry a command out; what it writes is dropped. Raises CommandError."""
    command = [str((checkout / _START).resolve()), *words]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as output:
        began = time.monotonic()
        with subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        ) as process:
            # wait4(2) and no `wait`: it counts all processes that this one has waited for.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        if process.returncode:
            output.seek(0)
            raise CommandError(" ".join(command), process.returncode, output.read())
    return CommandCost(wall, usage.ru_utime + usage.ru_stime)


def comparison_table(compared: Sequence[CommandComparison], other: Path) -> Table:
    """Medians of both, and how many times the other's ours is."""
    table = Table(
        "command",
        "wall s, before",
        "now",
        "now / before",
        "CPU s, before",
        "now",
        "now / before",
        title=f"Before: {other}. Medians of {len(compared[0].now)} turns each.",
        title_justify="left",
    )
    for each in compared:
        cells: list[str] = []
        for figure in (lambda cost: cost.wall, lambda cost: cost.cpu):
            cells += [f"{median(map(figure, costs)):.2f}" for costs in (each.before, each.now)]
            cells.append(f"{each.ratio(figure):.2f}")
        table.add_row(each.command, *cells)
    return table
