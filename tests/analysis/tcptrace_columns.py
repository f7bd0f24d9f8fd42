"""tcptrace's own figures, as it prints them, to compare ours with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import polars

from analysis.flows.columns import TCPTRACE
from analysis.tcptrace import LONG_REPORT, find_tcptrace

Differences = list[tuple[int, str, str, object]]
"""Connection, column, what tcptrace prints, what we have."""


def tcptrace_rows(capture: Path, home: Path) -> list[dict[str, str]]:
    """One dictionary per connection of what `tcptrace -n -l -r -W --csv` prints."""
    command = [find_tcptrace(), *LONG_REPORT, str(capture)]
    done = subprocess.run(
        command, env={"HOME": str(home), "LC_ALL": "C"}, cwd=home, capture_output=True, text=True, check=True
    )
    lines = [line.split(",") for line in done.stdout.splitlines() if line.strip() and not line.startswith("#")]
    header = [name.strip() for name in lines[0]]
    return [dict(zip(header, (field.strip() for field in line), strict=True)) for line in lines[1:]]


def differences(rows: list[dict[str, str]], frame: polars.DataFrame) -> Differences:
    """Every field of tcptrace's report that is not what the frame holds, to the precision that is printed."""
    found: Differences = [] if len(rows) == frame.height else [(0, "connections", str(len(rows)), frame.height)]
    for printed, ours in zip(rows, frame.iter_rows(named=True), strict=False):
        for name in (name for column in TCPTRACE for name in column.names()):
            if not _same(name, printed[name], ours[name]):
                found.append((int(printed["conn_#"]), name, printed[name], ours[name]))
    return found


def _same(name: str, printed: str, ours: object) -> bool:
    if name in ("first_packet", "last_packet"):
        seconds, microseconds = printed.split(".")
        return isinstance(ours, int) and ours // 1000 == int(seconds) * 1_000_000 + int(microseconds)
    if ours is None or isinstance(ours, str):
        return printed == (ours or "NA")
    if isinstance(ours, float):
        decimals = len(printed.partition(".")[2])
        return printed != "NA" and abs(float(printed) - ours) <= 0.51 * 10**-decimals + 1e-9
    return printed == str(ours)
