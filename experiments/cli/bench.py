"""`tcplab bench`: processor time and memory of runs and sweeps (docs/concepts/virtual-time.md)."""

import resource
import shlex
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from rich.console import Console
from rich.table import Table

from experiments.cli.options import options
from experiments.run.session import ready_lab
from testbed.host import command
from testbed.host.processes import ProcessUsage, taken_by
from topologies.errors import CommandError
from topologies.notation import json_value

CASES = (
    "run playground --bw 10mbit --duration 20s",
    "run playground --bw 100mbit --duration 20s",
    "run playground --bw 1gbit --delay 5ms --duration 10s",
    "run cubic_vs_reno --cc cubic --streams 100 --duration 10s",
    "run fair_shares --streams 10 --duration 20s",
    "run fair_shares --streams 50 --duration 20s",
    "sweep slow_start --set delay=10ms,20ms --seeds 10",
    "sweep slow_start --set delay=10ms,20ms --seeds 150",
)
"""Words of commands: more packets, flows, hosts, points."""
_ONCE = {"run": ("--repeat", "1")}
_HEAD = ("Command", "Packets", "Flows", "Hosts", "Points", "CPU (s)", "MB")
_LOOK = 0.05  # seconds between two looks at the memory


@dataclass(frozen=True)
class MeasuredCase:
    """A command with the size of its work; `memory` is that of its largest process, in bytes."""

    packets: int
    flows: int
    hosts: int
    points: int
    seconds: float
    memory: int

    @property
    def cells(self) -> tuple[str, ...]:
        counts = (self.packets, self.flows, self.hosts, self.points)
        shown = (f"{count:,}" if count else "-" for count in counts)
        return (*shown, f"{self.seconds:.1f}", f"{self.memory / 1e6:.0f}")


@click.command()
@options("bench")
def bench(quick: bool) -> None:
    """Measure what packets, flows, hosts and points cost: processor time and memory."""
    ready_lab()
    table = Table()
    for name in _HEAD:
        table.add_column(name, justify="left" if name == _HEAD[0] else "right")
    for words in CASES[: 2 if quick else None]:
        table.add_row(words, *_measured(words).cells)
    Console(width=110).print(table)


def _measured(words: str) -> MeasuredCase:
    """Run a command in a folder of its own. Raises CommandError if it fails."""
    with TemporaryDirectory() as scratch:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        typed = [*shlex.split(words), *_ONCE.get(words[:3], ()), "--out", scratch]
        started = subprocess.Popen(
            [*command("experiments.cli.main"), *typed],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        taken = ProcessUsage()
        while started.poll() is None:
            taken += taken_by(started.pid)
            time.sleep(_LOOK)
        if started.returncode:
            assert started.stderr
            raise CommandError(f"tcplab {words}", started.returncode, started.stderr.read())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return MeasuredCase(*_counts(Path(scratch)), seconds, taken.peak)


def _counts(folder: Path) -> tuple[int, int, int, int]:
    """Return the packets over all links, flows, hosts and points of the newest result."""
    for file in folder.glob("*/*/sweep.json"):
        return 0, 0, 0, int(json_value(file.read_text())["points"]["done"])
    (spec,) = (json_value(file.read_text()) for file in folder.glob("*/[0-9]*/spec.json"))
    hosts = sum(node["kind"] == "host" for node in spec["topology"]["nodes"])
    packets = 0
    for file in folder.glob("*/[0-9]*/raw/seed-*/*/qdiscs.json"):
        readings = json_value(file.read_text())
        for when, sign in (("before", -1), ("after", 1)):
            rows = (row for rows in readings[when].values() for row in rows if row.get("root"))
            packets += sign * sum(int(row["packets"]) for row in rows)
    return packets, len(spec["flows"]), hosts, 1
