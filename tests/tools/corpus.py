"""Differences between readers for every capture in a folder, by class.

    .venv/bin/python -m tests.tools.corpus FOLDER

Nothing is fetched; tcptrace and tshark are left out if they are not installed. The exit status is 1
for a crash.
"""

import shlex
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis import flows
from analysis.flows.events import events
from analysis.table import ColumnTable
from tests.tools import agreement
from topologies.errors import CommandError, TcplabError

_LONGEST = 600  # seconds for reading one capture
_READ = """
import sys
from analysis import flows
from topologies.errors import TcplabError
for compatible in (False, True):
    try:
        flows.read(sys.argv[1], packets=True, compatible=compatible)
    except TcplabError:
        pass
"""
_CLASSES = {
    "retransmission": ("fast", "sack", "rto", "tlp", "spurious", "other", "syn", "fin"),
    "out_of_order": ("late",),
    "lost_segment": ("gap",),
    "duplicate_ack": ("duplicate_ack",),
    "zero_window": ("zero_window",),
    "zero_window_probe": ("probe",),
    "window_full": ("window_full",),
    "keep_alive": ("keepalive",),
    "ack_lost_segment": ("unseen",),
}
"""tshark's classes (tcp.analysis.*), and our events that are nearest to each."""


@dataclass(frozen=True)
class CorpusFinding:
    """One class of difference in one capture; `kind` is crash, tcptrace or tshark."""

    capture: Path
    kind: str
    name: str
    count: int = 1
    example: str = ""


def findings(capture: Path) -> Iterator[CorpusFinding]:
    """Compare the readers. A file that is no capture has no findings."""
    # A process of its own: an engine that crashes must not end this one.
    command = [sys.executable, "-c", _READ, str(capture)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        yield CorpusFinding(capture, "crash", f"not read within {_LONGEST} s")
        return
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        yield CorpusFinding(capture, "crash", f"status {done.returncode}", example=last[0])
        return
    try:
        read = flows.read(capture, packets=True)
    except TcplabError:
        return
    if shutil.which("tcptrace") and read.file.format != "pcapng":
        yield from _of_tcptrace(capture)
    if shutil.which("tshark"):
        yield from _of_tshark(capture, events(read))


def _of_tcptrace(capture: Path) -> Iterator[CorpusFinding]:
    try:
        comparison = agreement.compare(capture)
    except TcplabError as error:
        yield CorpusFinding(capture, "tcptrace", "does not read it", example=str(error)[:200])
        return
    for sentence in comparison.strangers:
        yield CorpusFinding(capture, "tcptrace", "connections (disagrees)", example=sentence)
    if comparison.divided:
        yield CorpusFinding(capture, "tcptrace", "connections (repaired)", comparison.divided)
    for field in comparison.fields:
        if not field.same:
            name = f"{field.name} ({'disagrees' if field.faults else field.column.agreement})"
            example = f"{field.theirs}, compatible {field.compatible}, ours {field.ours}"
            yield CorpusFinding(capture, "tcptrace", name, example=example)


def _of_tshark(capture: Path, told: ColumnTable) -> Iterator[CorpusFinding]:
    """Find packets that only one of both has in a class."""
    fields = ["frame.number", *(f"tcp.analysis.{name}" for name in _CLASSES)]
    shown = [part for field in fields for part in ("-e", field)]
    command = ["tshark", "-r", str(capture), "-Y", "tcp.analysis.flags", "-T", "fields", *shown]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST)
    # A cut capture is status 2 after all of its packets.
    if done.returncode not in {0, 2}:
        raise CommandError(shlex.join(command), done.returncode, done.stderr)
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    for at, (name, ours) in enumerate(_CLASSES.items(), 1):
        theirs = {int(line[0]) for line in lines if line[at]}
        mine = set(map(int, told["number"][np.isin(told["event"].values, ours)].to_list()))
        for who, numbers in (("tshark", theirs - mine), ("we", mine - theirs)):
            if numbers:
                example = f"packet {min(numbers)}"
                yield CorpusFinding(capture, "tshark", f"{name}: only {who}", len(numbers), example)


def main(folder: Path) -> int:
    """Print a line per class of difference."""
    captures = sorted(path for path in folder.rglob("*") if path.is_file())
    classes: dict[tuple[str, str], list[CorpusFinding]] = defaultdict(list)
    for number, capture in enumerate(captures, 1):
        print(f"{number} of {len(captures)}: {capture.name}", file=sys.stderr)
        for finding in findings(capture):
            classes[finding.kind, finding.name].append(finding)
    for (kind, name), found in sorted(classes.items()):
        files, times = len({one.capture for one in found}), sum(one.count for one in found)
        example = f"{found[0].capture.relative_to(folder)}: {found[0].example}"
        print(f"{kind}, {name}: {times} times in {files} files, for example {example}")
    if not classes:
        print(f"Nothing differs in {len(captures)} files.")
    return 1 if any(kind == "crash" for kind, _ in classes) else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
