"""Median times of real drags of a slider on the live page, in a headless browser.

    .venv/bin/python -m tests.tools.dragging --drags 20

The mouse takes the rate's slider up and down, with 60 moves a second. Each end has its own figures:
the run of 100 Mbit/s has sixty times the packets of 1 Mbit/s. An update is a drawing of new samples
on the screen. Processor time is that of the server and its guests, without the pauses between
drags.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.play.player import Player
from tests.analysis.browser import Page, browser
from tests.play.serving import served, wait_until

_TICKS = os.sysconf("SC_CLK_TCK")
_MOVES = 60  # a second
_LOOK = 0.1  # seconds between two readings of the processes' times
_GUEST = ("linux", "uml-userspace")
_REST = 3.0  # seconds between two drags, in which a person looks at the result
_SCREEN = {"width": 1400, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
_WATCH = """
(() => {
  const { play } = tcplabPlay;
  const update = play.board.update.bind(play.board);
  window.drawn = [];
  play.board.update = (key, make) => {
    update(key, make);
    const run = play.shown.A[key];
    const isNew = run && (key !== "window" || run.versions.samples);
    if (isNew) requestAnimationFrame((now) => drawn.push({
      key, number: run.number, rate: run.settings.bw, isWhole: run.isWhole,
      at: performance.now(), samples: run.versions.samples || 0,
    }));
  };
})()
"""


@dataclass(frozen=True)
class DragTimes:
    """Figures of one drag, in seconds; NaN for what never came while it lasted."""

    value: str  # where the slider is released
    updates: float  # a second, while the slider moves
    runs: float  # drawn a second, while the slider moves
    first: float  # from the release to the first samples of the last value
    whole: float  # from the release until all graphs show the last value
    processor: float


class GuestMeter:
    """Processor time of this process and its guests, read again and again (proc_pid_stat(5))."""

    def __init__(self) -> None:
        self._spent: dict[int, float] = {}
        self._stop = threading.Event()
        self._reader = threading.Thread(target=self._read_on, daemon=True)

    def __enter__(self) -> GuestMeter:
        self._reader.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._reader.join()

    def seconds(self) -> float:
        """Return what all processes have spent so far, those that have ended included."""
        return time.process_time() + sum(self._spent.values())

    def _read_on(self) -> None:
        while not self._stop.wait(_LOOK):
            for process in Path("/proc").iterdir():
                if process.name.isdecimal() and _text(process / "comm").strip() in _GUEST:
                    fields = _text(process / "stat").rpartition(")")[2].split()
                    if fields and _is_ours(process):
                        ticks = int(fields[11]) + int(fields[12])
                        self._spent[int(process.name)] = ticks / _TICKS


def _is_ours(process: Path) -> bool:
    """Return whether this process is an ancestor."""
    parent = int(process.name)
    while parent > 1 and parent != os.getpid():
        fields = _text(Path(f"/proc/{parent}/stat")).rpartition(")")[2].split()
        parent = int(fields[1]) if fields else 0
    return parent == os.getpid()


def _text(file: Path) -> str:
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""  # it has ended meanwhile


def drag(page: Page, meter: GuestMeter, start: float, end: float, seconds: float) -> DragTimes:
    """Take the slider from one share of its width to another, and wait for the result."""
    place = page.run(
        "(({ x, y, width, height }) => [x, y + height / 2, width])"
        "(document.getElementById('set-bw').getBoundingClientRect())"
    )
    left, y, width = place
    page.run("drawn.length = 0")
    busy = meter.seconds()
    begun = page.run("performance.now()")
    _mouse(page, "mousePressed", left + start * width, y)
    _moved(page, [left + (start + (end - start) * part) * width for part in _parts(seconds)], y)
    released = page.run("performance.now()")
    _mouse(page, "mouseReleased", left + end * width, y)
    wait_until(lambda: bool(page.run("tcplabPlay.play.runs.A.isWhole")))
    time.sleep(0.3)
    spent = meter.seconds() - busy
    last = page.run("tcplabPlay.play.sides.A.bw")
    return _figures(page.run("drawn"), last, begun, released, spent)


def _parts(seconds: float) -> list[float]:
    count = round(seconds * _MOVES)
    return [(at + 1) / count for at in range(count)]


def _moved(page: Page, places: list[float], y: float) -> None:
    begun = time.monotonic()
    for at, x in enumerate(places, 1):
        _mouse(page, "mouseMoved", x, y)
        time.sleep(max(0.0, begun + at / _MOVES - time.monotonic()))


def _mouse(page: Page, kind: str, x: float, y: float) -> None:
    page.call(
        "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", buttons=1, clickCount=1
    )


def _figures(
    drawn: list[dict[str, Any]], last: str, begun: float, released: float, spent: float
) -> DragTimes:
    seconds = (released - begun) / 1000
    windows = [each for each in drawn if each["key"] == "window" and each["samples"]]
    meanwhile = [each for each in windows if begun < each["at"] < released]
    of_last = [each for each in drawn if each["rate"] == last and each["at"] >= released]
    first = min((each["at"] for each in of_last if each in windows), default=float("nan"))
    whole = max((each["at"] for each in of_last), default=float("nan"))
    return DragTimes(
        last,
        len(meanwhile) / seconds,
        len({each["number"] for each in meanwhile}) / seconds,
        (first - released) / 1000,
        (whole - released) / 1000,
        spent,
    )


def measured(drags: int, seconds: float, ends: tuple[float, float]) -> list[DragTimes]:
    """Return the figures of that many drags, in turns up and down between shares of the width."""
    with tempfile.TemporaryDirectory() as place, Player() as player, served(player) as address:
        folder = Path(place)
        with GuestMeter() as meter, browser(folder) as page:
            page.call("Emulation.setDeviceMetricsOverride", **_SCREEN)
            page.call("Page.navigate", url=address)
            wait_until(lambda: bool(page.run("window.tcplabPlay?.play?.runs.A?.isWhole ?? false")))
            page.run(_WATCH)
            figures = []
            for number in range(drags):
                time.sleep(_REST)
                start, end = ends if number % 2 == 0 else ends[::-1]
                figures.append(drag(page, meter, start, end, seconds))
            return figures


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--drags", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1.2, help="how long a drag takes")
    parser.add_argument("--ends", type=float, nargs=2, default=(0.25, 0.75), help="of the slider")
    given = parser.parse_args()
    figures = measured(given.drags, given.seconds, given.ends)
    for value in sorted({each.value for each in figures}):
        show([each for each in figures if each.value == value], given.seconds)


def show(figures: list[DragTimes], seconds: float) -> None:
    count, value = len(figures), figures[0].value
    print(f"medians of {count} drags of {seconds:g} s to {value} (smallest to largest)")
    for name, unit in (
        ("updates", "drawings of samples a second while dragging"),
        ("runs", "runs drawn a second while dragging"),
        ("first", "s from release to the first samples"),
        ("whole", "s from release to all graphs"),
        ("processor", "s of processor time of server and guests"),
    ):
        values = [getattr(each, name) for each in figures]
        print(f"{statistics.median(values):8.2f} ({min(values):.2f} to {max(values):.2f}) {unit}")


if __name__ == "__main__":
    main()
