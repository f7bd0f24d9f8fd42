"""How real the time of a native run was: late timers, and programs that waited for a processor.

No figure of the run shows it, so a process next to it sleeps and looks at the clock.
"""

import json
import math
import re
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

REALTIME = "realtime.json"
_NAP = 0.01  # seconds between two looks at the clock
_ROUND = 50  # naps between two looks at all processes of the run
LATE = 0.001
"""Seconds. Queues and delay lines are made of timers; the shortest usual delay is 1 ms."""
# Shares of the run's time above which there is a warning.
_WAITING, _PRESSURE, _STOLEN = 0.05, 0.20, 0.01

Facts = dict[str, Any]


@contextmanager
def watched(process: int, out: Path) -> Iterator[None]:
    """Measure the processes below `process` during the block; leaves realtime.json in `out`."""
    program = [sys.executable, "-I", "-B", str(Path(__file__)), str(process)]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as observer:  # in a session of its own: Ctrl-C is not meant for it
        try:
            yield
        finally:
            text, _ = observer.communicate()
    if text:
        (out / REALTIME).write_text(text)


def warnings(facts: Facts) -> list[str]:
    """Return a sentence with its figure for everything that makes the results of a run doubtful."""
    seconds = float(facts["seconds"])
    late, waited = facts["timer_late_seconds"], float(facts["waited_seconds"])
    sentences = []
    if late["one_in_a_hundred"] > LATE:
        by = f"one in a hundred by {1e3 * late['one_in_a_hundred']:.1f} ms or more"
        sentences.append(f"Timers were late: {by}, the latest by {1e3 * late['most']:.1f} ms.")
    if waited > _WAITING * seconds:
        sentences.append(f"Its programs waited {waited:.1f} s for a processor in {seconds:.0f} s.")
    for name, most, what in (
        ("pressure_seconds", _PRESSURE, "something on this machine waited for a processor"),
        ("stolen_seconds", _STOLEN, "another virtual machine had a processor of this one"),
    ):
        if facts[name] is not None and facts[name] > most * seconds:
            sentences.append(f"In {100 * facts[name] / seconds:.0f} % of the time {what}.")
    return sentences


def observe(process: int, proc: Path = Path("/proc")) -> Facts:
    """Sleep and look at the clock until standard input ends.

    Times are in seconds; None if the kernel does not count them. `stolen` is per processor;
    `waited` adds up the run-queue time of all threads (sched-stats.rst).
    """
    begun, before = time.monotonic(), _counted(proc)
    ended = select.poll()  # of any descriptor, where select(2) takes 1024
    ended.register(sys.stdin, select.POLLIN)
    late: list[float] = []
    waited: dict[str, float] = {}
    while True:
        if len(late) % _ROUND == 0:
            waited |= dict(_waits(process, proc))
        due = time.monotonic() + _NAP
        if ended.poll(1000 * _NAP):
            break
        late.append(max(0.0, time.monotonic() - due))
    pressure, stolen = (
        None if old is None or new is None else new - old
        for old, new in zip(before, _counted(proc), strict=True)
    )
    facts: Facts = {"seconds": time.monotonic() - begun, "naps": len(late)}
    facts |= {"timer_late_seconds": _summary(late), "waited_seconds": sum(waited.values())}
    return facts | {"pressure_seconds": pressure, "stolen_seconds": stolen}


def _summary(late: list[float]) -> dict[str, float]:
    late = sorted(late) or [0.0]
    hundredth = late[min(len(late) - 1, math.ceil(0.99 * len(late)))]
    return {"median": late[len(late) // 2], "one_in_a_hundred": hundredth, "most": late[-1]}


def _counted(proc: Path) -> tuple[float | None, float | None]:
    """Return seconds of pressure (accounting/psi.rst) and stolen per processor (proc_stat(5))."""
    match = re.search(r"some .*total=(\d+)", _text(proc / "pressure/cpu"))
    lines = [line.split() for line in _text(proc / "stat").splitlines() if line.startswith("cpu")]
    has_stolen = lines and len(lines[0]) > 8
    stolen = int(lines[0][8]) / 100 / max(1, len(lines) - 1) if has_stolen else None
    return int(match[1]) / 1e6 if match else None, stolen


def _waits(process: int, proc: Path) -> Iterator[tuple[str, float]]:
    """Yield each thread of a tree of processes, and the seconds it waited on a run queue."""
    for task in (proc / str(process) / "task").glob("*"):
        if words := _text(task / "schedstat").split():
            yield task.name, int(words[1]) / 1e9
        for child in _text(task / "children").split():
            yield from _waits(int(child), proc)


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:  # the kernel lacks it, or the thread ended between two looks
        return ""


if __name__ == "__main__":
    print(json.dumps(observe(int(sys.argv[1])), indent=1))
