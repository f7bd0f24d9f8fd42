"""Cost of whole commands in this checkout and in an older one, in turns on one machine.

.venv/bin/python -m tests.tools.against ../older-tcplab --times 5
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from topologies.errors import CommandError

COMMANDS = (
    "--help",
    "run sack --seed 1 --repeat 1",
    "sweep sack --seeds 20 --force",
    "run sack --seed 1 --repeat 1 --bw 100mbit --loss 0% --duration 10s",
)
"""Commands that every checkout has."""


@dataclass(frozen=True)
class CommandCost:
    """Seconds of a command: wall, and of processors with all processes that it started."""

    wall: float
    cpu: float


def cost_of(checkout: Path, words: Sequence[str]) -> CommandCost:
    """Run a command in an empty folder. Raises CommandError if it fails."""
    command = [str((checkout / "tcplab").resolve()), *words]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as output:
        began = time.monotonic()
        with subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        ) as process:
            # wait4(2) instead of `wait`: it counts all processes that this one has waited for.
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        if process.returncode:
            output.seek(0)
            raise CommandError(" ".join(command), process.returncode, output.read())
    return CommandCost(wall, usage.ru_utime + usage.ru_stime)


def main(other: Path, times: int) -> None:
    """Print medians of both checkouts. The first start of each, which may install, is not timed."""
    places = (other, Path(__file__).resolve().parents[2])
    for command in COMMANDS:
        words = command.split()
        for place in places:
            cost_of(place, words)
        turns = [[cost_of(place, words) for place in places] for _ in range(times)]
        walls = [median(turn[place].wall for turn in turns) for place in (0, 1)]
        cpus = [median(turn[place].cpu for turn in turns) for place in (0, 1)]
        print(f"{command}: wall {walls[0]:.2f} s before, {walls[1]:.2f} s now", end="; ")
        print(f"CPU {cpus[0]:.2f} s before, {cpus[1]:.2f} s now")


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("other", type=Path, help="the folder of an older checkout")
    parser.add_argument("--times", type=int, default=3)
    main(**vars(parser.parse_args()))
