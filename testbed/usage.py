"""What a tree of processes has taken so far, from proc_pid_stat(5).

bubblewrap does not wait for what it started, so the usual accounting of ended children says nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_and_memory(pid: int) -> tuple[float, int]:
    """CPU seconds of a process, its descendants and those it has waited for; peak memory in bytes of the largest."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        peak = _peak(Path(f"/proc/{pid}/status").read_text())
    except (FileNotFoundError, ProcessLookupError):  # it ended between two looks
        return 0.0, 0
    cpu = sum(int(ticks) for ticks in fields[11:15]) / _TICKS
    for child in children:
        more, larger = cpu_and_memory(int(child))
        cpu, peak = cpu + more, max(peak, larger)
    return cpu, peak


def _peak(status: str) -> int:
    lines = (line.split() for line in status.splitlines())
    return next((int(words[1]) * 1024 for words in lines if words and words[0] == "VmHWM:"), 0)
