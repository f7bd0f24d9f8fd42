"""tcptrace, the reference that analysis.flows is held against: its long report as records.

tcptrace 6.6.7 has traps, all measured: `~/.tcptracerc` changes results (so HOME is the folder
that it writes to), a truncated file still exits 0, and times of the first and last packet are
not zero-padded (so they are put right). What it has wrong is in
analysis/agreement/policy.py.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from topologies.foundation.errors import CommandError, TcplabError

LONG_REPORT = ("-n", "-l", "-r", "-W", "--csv")
"""No name look-ups; long report with RTT and congestion-window estimates; separated by commas."""
TIME_LIMIT = 120
"""Seconds after which a tcptrace that has not ended is taken to hang."""

_VERSION = "tcplab knows tcptrace 6.6.7."
_CANNOT = (
    "tcptrace may not know this kind of capture: it reads pcap files of Ethernet, Linux cooked 1,"
    " raw IP and PPP."
)
_REMEDY = "Install it: sudo apt-get install tcptrace"


def find_tcptrace() -> str:
    """The path of tcptrace. Raises TcplabError with the command that installs it."""
    program = shutil.which("tcptrace")
    if program is None:
        raise TcplabError(
            "tcptrace is not installed, so there is nothing to compare with.", _REMEDY
        )
    return program


def long_report(capture: Path) -> list[dict[str, str]]:
    """All columns of each connection as tcptrace prints them, the broken ones too.

    Raises TcplabError where tcptrace is missing, hangs, fails, or prints what does not parse.
    """
    with TemporaryDirectory(prefix="tcplab-tcptrace-") as folder:
        return rows(run(capture, Path(folder)))


def run(capture: Path, folder: Path, *more: str) -> str:
    """What `tcptrace` prints of `capture`, with the options LONG_REPORT and `more`.

    Its files go to `folder`.
    """
    command = [find_tcptrace(), *LONG_REPORT, *more, str(capture.resolve())]
    done = _run(command, str(folder))
    if done.returncode:
        raise CommandError(
            " ".join(command), done.returncode, done.stdout[-2000:] + done.stderr[-2000:], _CANNOT
        )
    return done.stdout


def _run(command: list[str], folder: str) -> subprocess.CompletedProcess[str]:
    environment = {"HOME": folder, "PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    try:
        return subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIME_LIMIT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TcplabError(
            f"tcptrace did not end within {TIME_LIMIT} s.", f"Try it by hand: {' '.join(command)}"
        ) from error
    except OSError as error:
        raise TcplabError(f"tcptrace cannot be started ({error.strerror}).", _REMEDY) from error


def rows(report: str) -> list[dict[str, str]]:
    """The connections in the text that `tcptrace -l --csv` printed.

    Raises TcplabError where it does not parse.
    """
    lines = [
        line.split(",") for line in report.splitlines() if line.strip() and not line.startswith("#")
    ]
    if not lines or lines[0][0] != "conn_#":
        return []
    header = [name.strip() for name in lines[0]]
    try:
        return [dict(zip(header, map(str.strip, line), strict=True)) for line in lines[1:]]
    except ValueError as error:
        raise TcplabError(f"tcptrace's report does not parse ({error}).", _VERSION) from error


def seconds(printed: str) -> float:
    """`5.42` stands for 5 s and 42 us: tcptrace does not pad the microseconds."""
    whole, _, microseconds = printed.partition(".")
    return int(whole) + int(microseconds or 0) / 1e6
