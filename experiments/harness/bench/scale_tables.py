"""The tables of `bench scale`, each with its growth in a sentence, from measurements only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.table import Table

from experiments.harness.bench.growth import duration, exactness, fit, size
from experiments.harness.bench.scale import (
    GrowthSeries,
    SizeCost,
    all_series,
    measured,
    two_at_once,
)
from testbed.lab.ready import lab

_FULL_TIMES, _QUICK_TIMES = 3, 1
_TITLES = {
    "hosts": "Hosts (one flow of 10 Mbit/s for 1 s)",
    "flows": "Flows (20 hosts, together 100 Mbit/s for 2 s)",
    "rate": "Rate in Mbit/s (two hosts, one flow for 10 s)",
    "seconds": "Seconds of traffic (two hosts, one flow of 10 Mbit/s)",
}


def scale(quick: bool, tell: Callable[[str], None]) -> Iterator[Table | str]:
    """Measure every series and give its table at once; `tell` gets what is being measured.

    Raises TcplabError if a guest fails.
    """
    ready, times = lab(), _QUICK_TIMES if quick else _FULL_TIMES
    for series in all_series(quick):
        yield table_of(series, measured(series, times, ready, tell))
    yield (
        f"Two guests at once end {two_at_once(times, ready, tell):.2f} times as many runs a second"
        " as one.\n"
    )


def table_of(series: GrowthSeries, readings: Sequence[SizeCost]) -> Table:
    """A row for every size, and below it the growth as a sentence."""
    table = Table(
        series.grows,
        "start-up, CPU s",
        "then, CPU s",
        "wall s",
        "memory, MB",
        "packets",
        "results",
        title=_TITLES[series.grows],
        title_justify="left",
        caption=sentence(series, readings),
        caption_justify="left",
    )
    for number, reading, shape in zip(series.sizes(), readings, series.shapes, strict=True):
        table.add_row(
            str(number),
            f"{reading.startup_cpu:.2f}",
            f"{reading.after_cpu:.2f}",
            f"{reading.startup_wall + reading.after_wall:.2f}",
            f"{reading.usage.memory / 1e6:.0f}",
            f"{reading.packets:,}",
            f"{reading.results} of {shape.flows}",
        )
    return table


def sentence(series: GrowthSeries, readings: Sequence[SizeCost]) -> str:
    """The fitted growth of a series."""
    return _SENTENCES[series.grows](series.sizes(), readings)


def _of_hosts(sizes: Sequence[int], readings: Sequence[SizeCost]) -> str:
    cpu = fit(
        [(number, reading.startup_cpu) for number, reading in zip(sizes, readings, strict=True)]
    )
    return (
        f"A host costs {duration(cpu.each)} of CPU at start-up beside the {duration(cpu.fixed)} of"
        f" every guest ({exactness(cpu)}), and {size(_memory(sizes, readings))} of memory."
    )


def _of_flows(sizes: Sequence[int], readings: Sequence[SizeCost]) -> str:
    cpu = fit([(number, reading.cpu) for number, reading in zip(sizes, readings, strict=True)])
    return (
        f"A flow, two programs that run for two seconds, costs {duration(cpu.each)} of CPU"
        f" ({exactness(cpu)}) and {size(_memory(sizes, readings))} of memory."
    )


def _of_rate(_sizes: Sequence[int], readings: Sequence[SizeCost]) -> str:
    cpu = fit([(reading.packets, reading.cpu) for reading in readings])
    return (
        f"A packet through the bottleneck, data or ACK, costs {duration(cpu.each)} of CPU"
        f" ({exactness(cpu)})."
    )


def _of_seconds(sizes: Sequence[int], readings: Sequence[SizeCost]) -> str:
    cpu = fit([(number, reading.cpu) for number, reading in zip(sizes, readings, strict=True)])
    return f"A virtual second of this traffic costs {duration(cpu.each)} of CPU ({exactness(cpu)})."


def _memory(sizes: Sequence[int], readings: Sequence[SizeCost]) -> float:
    return fit(
        [(number, reading.usage.memory) for number, reading in zip(sizes, readings, strict=True)]
    ).each


_SENTENCES: dict[str, Callable[[Sequence[int], Sequence[SizeCost]], str]] = {
    "hosts": _of_hosts,
    "flows": _of_flows,
    "rate": _of_rate,
    "seconds": _of_seconds,
}
