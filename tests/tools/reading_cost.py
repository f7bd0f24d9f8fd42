"""Cost of reading a capture with us, tcptrace and tshark, and of idle connections.

    .venv/bin/python -m tests.tools.reading_cost --packets 1000000 --times 3

Each reader is a process. Wall and processor seconds and the peak memory are medians; readers take
turns, so that a change of the machine's load meets all of them.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.tools import made_captures
from tests.tools.tcptrace import LONG_REPORT
from topologies.errors import CommandError

_IDLE = 50_000
_WATCH = """
import json, os, sys, time
with open(sys.argv[1] + '/output', 'wb') as output:
    begun = time.monotonic()
    redirected = [(os.POSIX_SPAWN_DUP2, output.fileno(), end) for end in (1, 2)]
    child = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ, file_actions=redirected)
    _, status, usage = os.wait4(child, 0)
print(json.dumps([time.monotonic() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]))
sys.exit(os.waitstatus_to_exitcode(status))
"""
"""Starts a program and watches it: a small process, as a program's peak begins at its parent's."""
_PYTHON = (sys.executable, "-c")
_READ = "import sys; from analysis import flows; flows.read(sys.argv[1], packets={})"
_ENGINE = """
import sys, time; from analysis import flows
engine = flows.load_engine(); begun = time.perf_counter()
engine.analyse(sys.argv[1], False, False); print(time.perf_counter() - begun)
"""
_PAGE = """
import sys; from analysis import flows, graphs
read = flows.read(sys.argv[1], packets=True)
graphs.page('made', [graphs.Capture.of('made', read)])
"""


@dataclass(frozen=True)
class ReaderCost:
    """Wall seconds, processor seconds of all threads, and peak memory in bytes of one process."""

    seconds: float
    processor: float
    memory: int
    output: str = ""


def readers() -> dict[str, tuple[str, ...]]:
    """List the commands that read a capture here; its path is their last argument."""
    found = {
        "ours, loading only": (
            *_PYTHON,
            "import analysis.flows.columns; analysis.flows.load_engine()",
        ),
        "ours, engine alone": (*_PYTHON, _ENGINE),
        "ours, as CSV": (sys.executable, "-m", "analysis.flows"),
        "ours, table": (*_PYTHON, _READ.format(False)),
        "ours, packets too": (*_PYTHON, _READ.format(True)),
        "ours, page of graphs": (*_PYTHON, _PAGE),
    }
    if program := shutil.which("tcptrace"):
        found["tcptrace"] = (program, *(word for word in LONG_REPORT if word != "--csv"))
    if program := shutil.which("tshark"):
        found["tshark, conv,tcp"] = (program, "-n", "-q", "-z", "conv,tcp", "-r")
    return found


def take(command: tuple[str, ...], capture: Path) -> ReaderCost:
    """Run a reader once. Raises CommandError if it fails."""
    root = Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HOME": folder, "PYTHONPATH": str(root)}
        watched = [sys.executable, "-S", "-c", _WATCH, folder, *command, str(capture)]
        done = subprocess.run(
            watched, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        output = (Path(folder) / "output").read_text(errors="replace")
    if done.returncode:
        raise CommandError(" ".join(command), done.returncode, (output + done.stderr)[-2000:])
    seconds, processor, memory = json.loads(done.stdout)
    return ReaderCost(seconds, processor, memory * 1024, output)


def measured(
    commands: Mapping[str, tuple[str, ...]], capture: Path, times: int
) -> dict[str, ReaderCost]:
    """Run all readers in turns; return the medians of each."""
    rounds: dict[str, list[ReaderCost]] = {name: [] for name in commands}
    for _ in range(times):
        for name, command in commands.items():
            rounds[name].append(take(command, capture))
    return {
        name: ReaderCost(
            statistics.median(cost.seconds for cost in costs),
            statistics.median(cost.processor for cost in costs),
            round(statistics.median(cost.memory for cost in costs)),
            costs[0].output,
        )
        for name, costs in rounds.items()
    }


def main(packets: int, times: int) -> None:
    """Print a line per reader, for a large capture and for idle connections."""
    with tempfile.TemporaryDirectory(prefix="tcplab-reading-") as folder:
        path = Path(folder) / "made.pcap"
        made = made_captures.bulk(path, packets)
        print(f"{made:,} packets on {len(os.sched_getaffinity(0))} processors")
        for name, cost in measured(readers(), path, times).items():
            rate = f"{made / cost.seconds:>12,.0f} packets/s"
            alone = f", of it the engine {float(cost.output):.2f} s" if "alone" in name else ""
            print(f"{name:22} {cost.seconds:6.2f} s, CPU {cost.processor:6.2f} s,", end=" ")
            print(f"{cost.memory / 1e6:6.0f} MB, {rate}{alone}")
        made_captures.idle(path, _IDLE)
        idle = measured(readers(), path, times)
        base = idle["ours, loading only"].memory
        print(f"{_IDLE:,} idle connections, bytes of memory for each:")
        print(f"ours {(idle['ours, table'].memory - base) / _IDLE:,.0f}", end="")
        print(f", tcptrace {idle['tcptrace'].memory / _IDLE:,.0f}" if "tcptrace" in idle else "")


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--packets", type=int, default=10**6)
    parser.add_argument("--times", type=int, default=3)
    main(**vars(parser.parse_args()))
