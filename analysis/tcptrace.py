"""tcptrace, the reference engine: its long report as records and its graphs as .xpl files.

tcptrace 6.6.7 has traps, all measured: `~/.tcptracerc` changes results (so HOME is an empty temporary folder),
a truncated file still exits 0 (so its messages are read), times of the first and last packet are not zero-padded
(so they are put right), and the columns in `BROKEN` are wrong (so they are left out).
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from topologies.errors import CommandError, TcplabError

LONG_REPORT = ("-n", "-l", "-r", "-W", "--csv")
"""No name look-ups; long report with RTT and congestion-window estimates, as comma-separated values."""
GRAPHS = ("-S", "-R")
"""Time-sequence and RTT graphs, written to the working directory."""
TIME_LIMIT = 120
"""Seconds after which a tcptrace that has not ended is taken to hang."""
BROKEN = {
    "owin": "wrong once sequence numbers pass 2^32",
    "full_sz": "always one sample",
    "resets_sent": "wraps at 256",
}
"""Parts of column names, and why tcptrace 6.6.7's values there cannot be trusted."""

_CUT_SHORT = re.compile(r"PCAP error: '(truncated dump file[^']*)'")
_NUMBER = re.compile(r"\d{1,20}(\.\d{1,20})?")
_VERSION = "tcplab knows tcptrace 6.6.7."
_REMEDY = "Install it: sudo apt-get install tcptrace"


@dataclass(frozen=True)
class Direction:
    """One direction of a connection: tcptrace's columns by name, such as unique_bytes_sent, as printed."""

    columns: dict[str, str]

    def number(self, column: str) -> float | None:
        """The value in tcptrace's own unit (bytes, packets, byte/s, s or ms by column); None where it prints none.

        It prints NA for what it cannot tell, such as the throughput of a connection that took no time.
        """
        printed = self.columns.get(column, "")
        return float(printed) if _NUMBER.fullmatch(printed) else None


@dataclass(frozen=True)
class Connection:
    """One connection between `hosts` at `ports` (a, b), with what a sent in `a2b`. Times are seconds since 1970."""

    hosts: tuple[str, str]
    ports: tuple[int, int]
    first_packet: float
    last_packet: float
    a2b: Direction
    b2a: Direction

    def towards(self, port: int) -> tuple[Direction, Direction]:
        """What went to `port`, then what came back."""
        return (self.a2b, self.b2a) if self.ports[1] == port else (self.b2a, self.a2b)

    @property
    def packets(self) -> float:
        """Packets in both directions."""
        return (self.a2b.number("total_packets") or 0) + (self.b2a.number("total_packets") or 0)

    def graph(self, kind: str, port: int) -> str:
        """tcptrace's name for the graph of what went to `port`; it numbers by letters, and this is the first's."""
        return f"{'a2b' if self.ports[1] == port else 'b2a'}_{kind}"


@dataclass(frozen=True)
class Trace:
    """What tcptrace says of one capture. `fault` is its message about a truncated file; `graphs` is name to text."""

    connections: tuple[Connection, ...]
    fault: str | None
    graphs: dict[str, str]

    def towards(self, port: int) -> list[Connection]:
        """The connections in which either end has `port`, most packets first."""
        found = [connection for connection in self.connections if port in connection.ports]
        return sorted(found, key=lambda connection: connection.packets, reverse=True)


def find_tcptrace() -> str:
    """The path of tcptrace. Raises TcplabError with the command that installs it."""
    program = shutil.which("tcptrace")
    if program is None:
        raise TcplabError("tcptrace is not installed, so its columns and graphs are missing.", _REMEDY)
    return program


def trace(capture: Path, graphs: bool = False) -> Trace:
    """Runs tcptrace over `capture`. Raises TcplabError where it is missing, hangs or fails."""
    with TemporaryDirectory(prefix="tcplab-tcptrace-") as folder:
        done = _report(capture, folder, GRAPHS if graphs else ())
        drawn = {path.stem: path.read_text(encoding="ascii", errors="replace") for path in Path(folder).glob("*.xpl")}
    fault = _CUT_SHORT.search(done.stderr + done.stdout)
    return Trace(read_connections(done.stdout), fault[1] if fault else None, drawn)


def long_report(capture: Path) -> list[dict[str, str]]:
    """All columns of each connection as tcptrace prints them, the broken ones too. Raises as `trace` does."""
    with TemporaryDirectory(prefix="tcplab-tcptrace-") as folder:
        return _rows(_report(capture, folder, ()).stdout)


def _report(capture: Path, folder: str, graphs: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    command = [find_tcptrace(), *LONG_REPORT, *graphs, str(capture.resolve())]
    done = _run(command, folder)
    if done.returncode:
        raise CommandError(" ".join(command), done.returncode, done.stdout[-2000:] + done.stderr[-2000:], _REMEDY)
    return done


def _run(command: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": folder, "PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    try:
        return subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            errors="replace", timeout=TIME_LIMIT, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise TcplabError(
            f"tcptrace did not end within {TIME_LIMIT} s.", f"Try it by hand: {' '.join(command)}"
        ) from error
    except OSError as error:
        raise TcplabError(f"tcptrace cannot be started ({error.strerror}).", _REMEDY) from error


def read_connections(report: str) -> tuple[Connection, ...]:
    """The connections in the text that `tcptrace -l --csv` printed. Raises TcplabError where it does not parse."""
    try:
        return tuple(map(_connection, _rows(report)))
    except (KeyError, ValueError) as error:
        raise TcplabError(f"tcptrace's report does not parse ({error}).", _VERSION) from error


def _rows(report: str) -> list[dict[str, str]]:
    lines = [line.split(",") for line in report.splitlines() if line.strip() and not line.startswith("#")]
    if not lines or lines[0][0] != "conn_#":
        return []
    header = [name.strip() for name in lines[0]]
    try:
        return [dict(zip(header, map(str.strip, line), strict=True)) for line in lines[1:]]
    except ValueError as error:
        raise TcplabError(f"tcptrace's report does not parse ({error}).", _VERSION) from error


def _connection(row: dict[str, str]) -> Connection:
    return Connection(
        (row["host_a"], row["host_b"]), (int(row["port_a"]), int(row["port_b"])),
        seconds(row["first_packet"]), seconds(row["last_packet"]), _direction(row, "_a2b"), _direction(row, "_b2a"),
    )  # fmt: skip


def _direction(row: dict[str, str], ending: str) -> Direction:
    columns = {name.removesuffix(ending): value for name, value in row.items() if name.endswith(ending)}
    return Direction({name: value for name, value in columns.items() if not any(part in name for part in BROKEN)})


def seconds(printed: str) -> float:
    """`5.42` stands for 5 s and 42 us: tcptrace does not pad the microseconds."""
    whole, _, microseconds = printed.partition(".")
    return int(whole) + int(microseconds or 0) / 1e6
