"""What a folder of captures shows: crashes, and differences between readers, by class."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from analysis import flows
from analysis.agreement import comparing
from analysis.flows.packet_events import events
from analysis.tabular.table import ColumnTable
from topologies.foundation.errors import CommandError, TcplabError

_LONGEST = 600
"""Seconds that reading a capture with both engines may take: the plain one is slow."""
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
    """What one capture shows: `kind` is crash, engines, tcptrace or tshark; `name` its class."""

    capture: Path
    kind: str
    name: str
    count: int = 1
    example: str = ""


def findings(capture: Path) -> Iterator[CorpusFinding]:
    """All that a capture shows; nothing of one that no reader takes for a capture."""
    yield from _of_engines(capture)
    try:
        read = flows.read(capture, packets=True)
    except TcplabError:
        return
    if shutil.which("tcptrace") and read.file.format != "pcapng":
        yield from _of_tcptrace(capture)
    if shutil.which("tshark"):
        yield from _of_tshark(capture, events(read))


def _of_engines(capture: Path) -> Iterator[CorpusFinding]:
    module = f"{__package__}.engine_differences"
    command = [sys.executable, "-m", module, str(capture)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        yield CorpusFinding(capture, "crash", f"not read within {_LONGEST} s")
        return
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["no message"]
        yield CorpusFinding(capture, "crash", f"status {done.returncode}", example=last[0])
        return
    for name in json.loads(done.stdout):
        yield CorpusFinding(capture, "engines", name)


def _of_tcptrace(capture: Path) -> Iterator[CorpusFinding]:
    """Fields whose compatible value is not tcptrace's, and those where ours is right instead."""
    try:
        comparison = comparing.compare(capture, "auto")
    except (CommandError, TcplabError) as error:
        yield CorpusFinding(capture, "tcptrace", "does not read it", example=str(error)[:200])
        return
    for sentence in comparison.strangers:
        yield CorpusFinding(capture, "tcptrace", "connections (disagrees)", example=sentence)
    if comparison.divided:
        example = "others by our definition of a connection"
        yield CorpusFinding(
            capture, "tcptrace", "connections (repaired)", comparison.divided, example
        )
    for field in comparison.fields:
        if field.same:
            continue
        name = f"{field.name} ({'disagrees' if field.faults else field.policy.kind})"
        example = f"{field.theirs}, compatible {field.compatible}, ours {field.ours}"
        yield CorpusFinding(capture, "tcptrace", name, example=example)


def _of_tshark(capture: Path, told: ColumnTable) -> Iterator[CorpusFinding]:
    """Packets that only one of both has in a class."""
    for name, ours in _CLASSES.items():
        theirs = _marked(capture, name)
        is_ours = np.isin(told["event"].values, ours)
        mine = set(told["number"][is_ours].to_list())
        for who, numbers in (("tshark", theirs - mine), ("we", mine - theirs)):
            if numbers:
                example = f"packet {min(numbers)}"
                yield CorpusFinding(capture, "tshark", f"{name}: only {who}", len(numbers), example)


def _marked(capture: Path, name: str) -> set[int]:
    """The numbers of the packets that tshark puts in a class. Raises CommandError."""
    shown = ["-Y", f"tcp.analysis.{name}", "-T", "fields", "-e", "frame.number"]
    command = ["tshark", "-r", str(capture), *shown]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_LONGEST)
    if done.returncode:
        raise CommandError(shlex.join(command), done.returncode, done.stderr)
    return set(map(int, done.stdout.split()))
