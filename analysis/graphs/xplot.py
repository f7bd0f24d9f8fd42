"""The graphs as .xpl files for xplot (http://www.xplot.org).

The commands and colours are those that tcptrace 6.6.7 writes. Sequence numbers count from the SYN,
as with tcptrace's option -z. Both axes of all files are of xplot's kinds `timeval` and `double`: a
long transfer has more bytes than fit the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from analysis.graphs import timelines
from analysis.graphs.capture import Capture, CaptureDirection, all_directions
from analysis.graphs.layers import Graph, Layer, graph, look_of
from analysis.graphs.mark_rows import safe_name, taken
from analysis.graphs.timelines import RATE
from analysis.rendering import page_files
from analysis.tabular.table import Whole

KINDS = ("tsg", "tput", "rtt", "owin", "ssize")
"""tcptrace's names of the graphs."""
TOGETHER = 10
"""Segments over which tcptrace averages the red line of its throughput."""
MOST_CONNECTIONS = 256
"""Connections of a capture that get files."""
Points = dict[str, Sequence[object]]
"""Values of each mark in the commands, by name."""


def write_xplot(captures: Sequence[Capture], folder: Path) -> list[Path]:
    """Write five files a direction: tsg, tput, rtt, owin and ssize.

    Of at most MOST_CONNECTIONS of each capture. Raises TcplabError if the folder cannot be written.
    """
    written: list[Path] = []

    def each() -> Iterator[tuple[str, bytes]]:
        for direction in all_directions(captures, MOST_CONNECTIONS):
            for kind in KINDS:
                name = f"{safe_name(direction.capture)}_{direction.short_name}_{kind}.xpl"
                written.append(folder / name)
                yield name, text(direction, kind)

    page_files.write(folder, each(), "graphs")
    return written


def text(direction: CaptureDirection, kind: str) -> bytes:
    """Return the file of one of KINDS."""
    if kind == "tsg":
        later = replace(direction, sent=taken(direction.sent, ~_is_syn(direction)))
        return xplot(direction, timelines.draw_segments(later), _syn(direction)).encode(
            "ascii", "replace"
        )
    draw = {
        "tput": throughput,
        "rtt": timelines.draw_rtt,
        "owin": timelines.draw_in_flight,
        "ssize": timelines.draw_segment_sizes,
    }
    return xplot(direction, draw[kind](direction)).encode("ascii", "replace")


def _syn(direction: CaptureDirection) -> list[str]:
    """Return the SYN, first and in orange as in tcptrace's file, whose reader counts from it."""
    times = direction.sent.time[_is_syn(direction)] + direction.start
    return _filled(
        {"at": _seconds(times)},
        ["orange", "diamond {at} 0", "atext {at} 1", "SYN", "uarrow {at} 1", "line {at} 0 {at} 1"],
    )


def _is_syn(direction: CaptureDirection) -> NDArray[np.bool_]:
    return np.asarray((direction.sent.low == 0) & (direction.sent.kind == 0))


def throughput(direction: CaptureDirection) -> Graph:
    """Draw throughput as tcptrace does.

    Each segment by the time since the one before, the average of ten, and that since the start.
    """
    times, sums = direction.sent.time, np.cumsum(direction.sent.high - direction.sent.low)
    tenth = np.arange(0, len(times), TOGETHER)
    layers = [
        Layer("instant", "dots", times[1:], _rate(times, sums, np.arange(len(times)))),
        Layer("throughput", "line", times[tenth[1:]], _rate(times, sums, tenth)),
        Layer(
            "average", "line", times[1:], (sums[1:] - sums[0]) / np.maximum(times[1:] - times[0], 1)
        ),
    ]
    return graph("throughput", "Throughput", "", RATE, *layers)


def _rate(times: Whole, sums: Whole, rows: Whole) -> np.ndarray:
    return np.diff(sums[rows]) / np.maximum(np.diff(times[rows]), 1)


def xplot(direction: CaptureDirection, drawn: Graph, before: Sequence[str] = ()) -> str:
    """Return the file's text, with commands that come `before` the graph's layers."""
    unit = f" ({drawn.y.unit})" if drawn.y.unit else ""
    title = f"{direction.source}_==>_{direction.target} ({drawn.title.lower()})"
    head = ["timeval double", "title", title, "xlabel", "time", "ylabel", f"{drawn.y.label}{unit}"]
    commands = (line for layer in drawn.layers for line in _commands(layer, direction, drawn))
    return "\n".join([*head, *before, *commands, "go", ""])


def _commands(layer: Layer, direction: CaptureDirection, drawn: Graph) -> list[str]:
    top = layer.y if layer.top is None else layer.top
    scale = drawn.y.scale
    points: Points = {
        "at": _seconds(layer.x.astype(np.int64) + direction.start),
        "low": _shown(layer.y, scale),
        "high": _shown(top, scale),
    }
    commands = _FORMS[layer.shape](points, look_of(layer.look).letter)
    return [look_of(layer.look).xplot, *commands]


def _shown(values: np.ndarray, scale: float) -> list[object]:
    is_whole = scale == 1 and values.dtype.kind == "i"
    return list((values if is_whole else np.round(values * scale, 3)).tolist())


def _seconds(nanoseconds: Whole) -> list[str]:
    """Write six digits after the point, from whole numbers: a float would not keep them all."""
    return [
        f"{seconds}.{rest // 1000:06}"
        for seconds, rest in zip(
            *(part.tolist() for part in np.divmod(nanoseconds, 10**9)), strict=True
        )
    ]


def _bars(points: Points, letter: str) -> list[str]:
    ends = ("htick", "htick") if letter in ("S", "D") else ("darrow", "uarrow")
    parts = [
        "line {at} {low} {at} {high}",
        f"{ends[0]} {{at}} {{low}}",
        f"{ends[1]} {{at}} {{high}}",
    ]
    return _filled(points, [*parts, "atext {at} {high}", letter] if letter else parts)


def _stairs(points: Points, _: str) -> list[str]:
    """tcptrace marks an ACK that repeats the one before by a small tick."""
    steps = _with_before(points)
    repeats = [was == low for was, low in zip(steps["was"], steps["low"], strict=True)]
    flat = _filled(steps, ["line {before} {was} {at} {was}", "line {at} {was} {at} {low}"])
    return flat + _filled(
        {
            name: [value for value, is_flat in zip(steps[name], repeats, strict=True) if is_flat]
            for name in ("at", "low")
        },
        ["dtick {at} {low}"],
    )


def _line(points: Points, _: str) -> list[str]:
    return _filled(_with_before(points), ["line {before} {was} {at} {low}"])


def _dots(points: Points, _: str) -> list[str]:
    return _filled(points, ["dot {at} {low}"])


def _with_before(points: Points) -> Points:
    later = {name: values[1:] for name, values in points.items()}
    return {**later, "before": points["at"][:-1], "was": points["low"][:-1]}


def _filled(points: Points, parts: list[str]) -> list[str]:
    """Return the parts, a line each, for every mark."""
    text = "\n".join(parts)
    for place, name in enumerate(points):
        text = text.replace(f"{{{name}}}", f"{{{place}}}")
    return list(map(text.format, *points.values()))


_FORMS = {"bars": _bars, "stairs": _stairs, "line": _line, "dots": _dots}
