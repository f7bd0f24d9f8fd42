"""The programs that read a capture, and the cost of one run of each.

A cost is seconds, and the peak memory of a process of its own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from analysis import flows
from analysis.agreement.tcptrace import LONG_REPORT
from topologies.foundation.errors import CommandError, TcplabError

_OURS = """
from analysis import flows
import sys
flows.read(sys.argv[1], engine={engine!r}, packets={packets})
"""
_LOADING = """
from analysis.flows import engine_tables
from analysis.flows.installed_engines import find_engine
find_engine('auto')
"""
_ALONE = """
import json, sys, time
from analysis.flows.installed_engines import find_engine
engine = find_engine({engine!r})
begun, worked = time.perf_counter(), time.process_time()
engine.analyse(sys.argv[1], False, False)
print(json.dumps([time.perf_counter() - begun, time.process_time() - worked]))
"""
"""The reading from the first byte to the columns of all connections, timed by itself.

The start of Python is not counted, and no frame is made.
"""
_DPKT = """
import dpkt, sys
with open(sys.argv[1], 'rb') as file:
    for time, octets in dpkt.pcap.Reader(file):
        dpkt.ethernet.Ethernet(octets).data.data.opts
"""
_SCAPY = """
from scapy.layers.inet import TCP
from scapy.layers.l2 import Ether
from scapy.utils import PcapReader
import sys
for packet in PcapReader(sys.argv[1]):
    packet[TCP].options
"""
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
"""Starts a program and watches it.

It is a process of its own, and small: a program's peak begins at that of its parent.
"""
_PAGE = """
from analysis import flows, graphs
import sys
read = flows.read(sys.argv[1], packets=True)
capture = graphs.Capture('made', read.packet_table, read.connection_table)
print(len(graphs.page('bench', [capture]).encode()))
"""


@dataclass(frozen=True)
class CaptureReader:
    """A program; `command` is put before the capture's path.

    `share` of the packets is read, for a program that is very slow.

    `times_itself`: it prints its wall and processor seconds, and these count instead of the
    whole process's.
    """

    name: str
    command: tuple[str, ...]
    share: float = 1.0
    times_itself: bool = False


@dataclass(frozen=True)
class ReaderCost:
    """What one run of a reader took, from start to end of its process, and what it printed.

    Wall seconds, processor seconds (user and system, of all threads), and the peak of the resident
    memory in bytes.
    """

    seconds: float
    processor: float
    memory: int
    output: str = ""


def ours(engine: str, packets: bool = False) -> CaptureReader:
    """A process that reads a capture with us, start of Python and imports included."""
    code = _OURS.format(engine=engine, packets=packets)
    name = f"ours, {engine}, " + ("packets too" if packets else "table")
    return CaptureReader(name, (sys.executable, "-c", code), _share(engine))


def _share(engine: str) -> float:
    return 1.0 if engine == "compiled" else 0.1


def alone(engine: str) -> CaptureReader:
    """The reading alone, without the start of Python and without a table."""
    command = (sys.executable, "-c", _ALONE.format(engine=engine))
    return CaptureReader(f"ours, {engine}, reading", command, _share(engine), times_itself=True)


def text() -> CaptureReader:
    """A process that prints every column as text, which is what tcptrace does."""
    return CaptureReader("ours, printed as CSV", (sys.executable, "-m", flows.__name__))


def nothing() -> CaptureReader:
    """A process that only loads what ours needs for tables: the base of their cost."""
    return CaptureReader("ours, loading only", (sys.executable, "-c", _LOADING))


def graphs() -> CaptureReader | None:
    """A process that reads a capture and makes the page of its graphs.

    It prints the size of the page. None without analysis.graphs.
    """
    specification = importlib.util.find_spec("..graphs", __package__)
    return (
        CaptureReader("ours, page of graphs", (sys.executable, "-c", _PAGE))
        if specification
        else None
    )


def others(python: str | None) -> Iterator[CaptureReader]:
    """Those that are installed; dpkt and Scapy in the environment of `python`."""
    if program := shutil.which("tshark"):
        yield CaptureReader("tshark, conv,tcp", (program, "-n", "-q", "-z", "conv,tcp", "-r"))
    for name, code, share in (("dpkt", _DPKT, 0.1), ("scapy", _SCAPY, 0.02)):
        if _has(python or sys.executable, name):
            yield CaptureReader(
                f"{name}, headers only",
                (python or sys.executable, "-W", "ignore", "-c", code),
                share,
            )


def tcptrace() -> CaptureReader | None:
    """The reference, as the analysis runs it but for the commas."""
    program = shutil.which("tcptrace")
    return (
        CaptureReader("tcptrace", (program, *(word for word in LONG_REPORT if word != "--csv")))
        if program
        else None
    )


def _has(python: str, module: str) -> bool:
    return (
        subprocess.run(
            [python, "-c", f"import {module}"], capture_output=True, check=False
        ).returncode
        == 0
    )


def take(reader: CaptureReader, capture: Path) -> ReaderCost:
    """Runs `reader` once. Raises CommandError if it fails."""
    root = Path(__file__).resolve().parents[__name__.count(".")]
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HOME": folder, "PYTHONPATH": str(root)}
        command = [sys.executable, "-S", "-c", _WATCH, folder, *reader.command, str(capture)]
        completed = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        output = (Path(folder) / "output").read_text(errors="replace")
    if completed.returncode:
        raise CommandError(reader.name, completed.returncode, (output + completed.stderr)[-2000:])
    seconds, processor, memory = json.loads(completed.stdout)
    if reader.times_itself:
        seconds, processor = json.loads(output)
    return ReaderCost(seconds, processor, memory * 1024, output)


@contextmanager
def environment_with(packages: tuple[str, ...]) -> Iterator[str]:
    """The Python of a new virtual environment with `packages`, which is removed afterwards.

    Raises TcplabError if the packages cannot be installed.
    """
    with tempfile.TemporaryDirectory(prefix="tcplab-bench-") as folder:
        python = str(Path(folder) / "bin" / "python")
        for command in (
            [sys.executable, "-m", "venv", folder],
            [python, "-m", "pip", "install", "--quiet", *packages],
        ):
            completed = subprocess.run(command, capture_output=True, text=True, check=False)
            if completed.returncode:
                raise TcplabError(
                    f"{' and '.join(packages)} could not be"
                    f" installed:\n{completed.stderr.strip()[-500:]}"
                )
        yield python
