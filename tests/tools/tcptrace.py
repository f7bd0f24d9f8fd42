"""tcptrace, the reference that analysis.flows is compared with: its long report as records.

tcptrace 6.6.7 has traps, all measured. `~/.tcptracerc` changes results, so HOME is the folder that
it writes to. A truncated file still exits 0. Times of the first and last packet are not
zero-padded. Its errors are in analysis/flows/columns.csv.
"""

import os
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from testbed.host.packages import COMPARISON, install_missing
from topologies.errors import CommandError, TcplabError

LONG_REPORT = ("-n", "-l", "-r", "-W", "--csv")
"""No name look-ups; long report with RTT and congestion-window estimates; separated by commas."""
_SECONDS = 120
_CANNOT = (
    "tcptrace may not know this kind of capture: it reads pcap files of Ethernet, Linux cooked 1,"
    " raw IP and PPP."
)


def long_report(capture: Path) -> list[dict[str, str]]:
    """Return all columns of each connection as tcptrace prints them. Raises TcplabError."""
    with TemporaryDirectory(prefix="tcplab-tcptrace-") as folder:
        return rows(run(capture, Path(folder)))


def run(capture: Path, folder: Path, *more: str) -> str:
    """Return what tcptrace prints with LONG_REPORT and `more`; its files go to `folder`."""
    install_missing(COMPARISON)
    command = ["tcptrace", *LONG_REPORT, *more, str(capture.resolve())]
    environment = {"HOME": str(folder), "PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TcplabError(f"tcptrace did not end within {_SECONDS} s.") from error
    if done.returncode:
        output = done.stdout[-2000:] + done.stderr[-2000:]
        raise CommandError(" ".join(command), done.returncode, output, _CANNOT)
    return done.stdout


def rows(report: str) -> list[dict[str, str]]:
    """Parse the connections that `tcptrace -l --csv` printed. Raises TcplabError."""
    lines = [
        line.split(",") for line in report.splitlines() if line.strip() and not line.startswith("#")
    ]
    if not lines or lines[0][0] != "conn_#":
        return []
    header = [name.strip() for name in lines[0]]
    try:
        return [dict(zip(header, map(str.strip, line), strict=True)) for line in lines[1:]]
    except ValueError as error:
        raise TcplabError(f"tcptrace's report does not parse ({error}).") from error


def seconds(printed: str) -> float:
    """Convert a time: `5.42` is 5 s and 42 us, as tcptrace does not pad the microseconds."""
    whole, _, microseconds = printed.partition(".")
    return int(whole) + int(microseconds or 0) / 1e6
