"""The programs that read a capture, and what one run of each took: seconds and peak memory of a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from analysis.tcptrace import LONG_REPORT
from topologies.errors import CommandError, TcplabError

_OURS = "from analysis import flows; import sys; flows.read(sys.argv[1], engine={engine!r}, packets={packets})"
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


@dataclass(frozen=True)
class Reader:
    """`command` is put before the capture's path. `share` of the packets is read by one that is very slow."""

    name: str
    command: tuple[str, ...]
    share: float = 1.0


@dataclass(frozen=True)
class Taken:
    """Wall seconds and the peak of the resident memory in bytes, from start to end of the process."""

    seconds: float
    memory: int


def ours(engine: str, packets: bool = False) -> Reader:
    """A process that reads a capture with us, start of Python and imports included."""
    code = _OURS.format(engine=engine, packets=packets)
    name = f"ours, {engine}" + (", a row a packet" if packets else "")
    return Reader(name, (sys.executable, "-c", code), 1.0 if engine == "compiled" else 0.1)


def nothing() -> Reader:
    """A process that only loads what ours needs: its seconds and bytes are in each of ours."""
    return Reader("ours, loading only", (sys.executable, "-c", "from analysis import flows, tcptrace"))


def others(python: str | None) -> Iterator[Reader]:
    """Those that are installed; dpkt and Scapy in the environment of `python`."""
    if program := shutil.which("tshark"):
        yield Reader("tshark", (program, "-n", "-q", "-z", "conv,tcp", "-r"))
    for name, code, share in (("dpkt", _DPKT, 0.1), ("scapy", _SCAPY, 0.02)):
        if _has(python or sys.executable, name):
            yield Reader(f"{name}, headers only", (python or sys.executable, "-W", "ignore", "-c", code), share)


def tcptrace() -> Reader | None:
    """The reference, as the analysis runs it but for the commas."""
    program = shutil.which("tcptrace")
    return Reader("tcptrace", (program, *(word for word in LONG_REPORT if word != "--csv"))) if program else None


def _has(python: str, module: str) -> bool:
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def take(reader: Reader, capture: Path) -> Taken:
    """Runs `reader` once. Raises CommandError where it fails."""
    root = Path(__file__).resolve().parents[2]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as output:
        environment = {**os.environ, "HOME": folder, "PYTHONPATH": str(root)}
        begun = time.monotonic()
        child = subprocess.Popen(
            [*reader.command, str(capture)], cwd=folder, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(child.pid, 0)
        seconds = time.monotonic() - begun
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            output.seek(0)
            raise CommandError(reader.name, child.returncode, output.read()[-2000:].decode(errors="replace"))
    return Taken(seconds, usage.ru_maxrss * 1024)


@contextmanager
def environment_with(packages: tuple[str, ...]) -> Iterator[str]:
    """The Python of a new virtual environment with `packages`, which goes away again. Raises TcplabError."""
    with tempfile.TemporaryDirectory(prefix="tcplab-bench-") as folder:
        python = str(Path(folder) / "bin" / "python")
        for command in ([sys.executable, "-m", "venv", folder], [python, "-m", "pip", "install", "--quiet", *packages]):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise TcplabError(f"{' and '.join(packages)} could not be installed:\n{done.stderr.strip()[-500:]}")
        yield python
