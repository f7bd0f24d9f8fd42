"""`python -m analysis bench`: figures of this machine, in one run; nothing is asserted."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from analysis.bench import capture_readers, made_captures
from analysis.bench.capture_readers import CaptureReader, ReaderCost
from topologies.foundation.errors import TcplabError

_IDLE = 50_000


@click.command()
@click.option(
    "--packets",
    type=click.IntRange(1000, 10**9),
    default=10**6,
    show_default=True,
    help="Size of the capture.",
)
@click.option(
    "--times",
    type=click.IntRange(1, 99),
    default=3,
    show_default=True,
    help="Runs of each (median).",
)
@click.option(
    "--install",
    is_flag=True,
    help="Fetch dpkt and Scapy into an environment that is removed again.",
)
def bench(packets: int, times: int, install: bool) -> None:
    """What reading a capture costs here: ours, tcptrace, and what else is installed."""
    try:
        with tempfile.TemporaryDirectory(prefix="tcplab-bench-") as folder, ExitStack() as stack:
            python = (
                stack.enter_context(capture_readers.environment_with(("dpkt", "scapy")))
                if install
                else None
            )
            _bench(Path(folder), packets, times, python)
    except TcplabError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)


def _bench(folder: Path, packets: int, times: int, python: str | None) -> None:
    console = Console()
    console.print(_speeds(folder, packets, times, python))
    console.print(_idle(folder, times))


def _ours() -> list[CaptureReader]:
    """The reading alone first, then what users start: whole processes."""
    from analysis.flows.installed_engines import engines

    alone = [capture_readers.alone(engine) for engine in engines()]
    frames = [
        capture_readers.ours(engine, packets) for engine in engines() for packets in (False, True)
    ]
    return [*alone, capture_readers.text(), *frames]


@dataclass(frozen=True)
class _ReaderRow:
    """What `reader` took for so many packets, which are `reader.share` of the capture."""

    reader: CaptureReader
    packets: int
    taken: ReaderCost

    def rates(self) -> tuple[float, float]:
        """Packets in a second of the clock, and in a second of a processor."""
        return tuple(
            self.packets / max(seconds, 0.001)
            for seconds in (self.taken.seconds, self.taken.processor)
        )  # type: ignore[return-value]

    def cells(self, reference: tuple[float, float] | None) -> tuple[str, ...]:
        rates = self.rates()
        ratios = (
            [f"{ours / theirs:.2f}" for ours, theirs in zip(rates, reference, strict=True)]
            if reference
            else ["", ""]
        )
        figures = (f"{self.taken.seconds:.2f}", f"{self.taken.processor:.2f}", f"{rates[0]:,.0f}")
        return _name(self.reader), *figures, *ratios, _megabytes(self.taken.memory)


def _speeds(folder: Path, packets: int, times: int, python: str | None) -> Table:
    """All readers in turn, so that a change of the machine's load meets all; medians of each."""
    reference = capture_readers.tcptrace()
    chosen = [
        capture_readers.nothing(),
        *_ours(),
        *filter(None, (capture_readers.graphs(), reference)),
        *capture_readers.others(python),
    ]
    captures = {
        share: _capture(folder, int(packets * share))
        for share in {reader.share for reader in chosen}
    }
    rounds: list[list[ReaderCost]] = [[] for _ in chosen]
    for turn in range(times):
        for reader, taken in zip(chosen, rounds, strict=True):
            click.echo(f"measuring {reader.name}, {turn + 1} of {times}", err=True)
            taken.append(capture_readers.take(reader, captures[reader.share][0]))
    rows = [
        _ReaderRow(reader, captures[reader.share][1], _median(taken))
        for reader, taken in zip(chosen, rounds, strict=True)
    ]
    return _table(rows, next((row.rates() for row in rows if row.reader == reference), None))


def _capture(folder: Path, packets: int) -> tuple[Path, int]:
    path = folder / f"{packets}.pcap"
    return path, made_captures.bulk(path, packets)


def _median(taken: list[ReaderCost]) -> ReaderCost:
    figures = [(cost.seconds, cost.processor, cost.memory) for cost in taken]
    seconds, processor, memory = (
        statistics.median(values) for values in zip(*figures, strict=True)
    )
    return ReaderCost(seconds, processor, round(memory), taken[0].output)


def _table(rows: list[_ReaderRow], reference: tuple[float, float] | None) -> Table:
    """Six figures of each reader.

    The ratios are packets/s by tcptrace's, and the same by processor seconds.
    """
    packets, processors = max(row.packets for row in rows), len(os.sched_getaffinity(0))
    title = (
        f"Reading {packets:,} packets on {processors} processors (% is the share that a slow one"
        " read)"
    )
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1)
    )
    for name in ("reader", "wall s", "CPU s", "packets/s", "of tcp-\ntrace", "by CPU", "memory"):
        table.add_column(name, justify="left" if name == "reader" else "right", no_wrap=True)
    for row in rows:
        if row.reader == capture_readers.nothing():
            seconds = (f"{row.taken.seconds:.2f}", f"{row.taken.processor:.2f}")
            table.add_row(row.reader.name, *seconds, "", "", "", _megabytes(row.taken.memory))
            continue
        table.add_row(*row.cells(reference))
        if row.taken.output and row.reader == capture_readers.graphs():
            table.add_row(f"  ({float(row.taken.output) / 1e3:,.0f} kB)")
    return table


def _idle(folder: Path, times: int) -> Table:
    """Memory of the fastest engine, and of tcptrace, for connections that are only opened."""
    from analysis.flows.installed_engines import engines

    title = f"{_IDLE:,} idle connections"
    names = ("reader", "wall s", "peak memory", "bytes a connection")
    table = Table(*names, title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    ours = capture_readers.ours(engines()[0])
    for reader in filter(None, (ours, capture_readers.tcptrace())):
        path, count = folder / "idle.pcap", int(_IDLE * reader.share)
        made_captures.idle(path, count)
        loading = capture_readers.nothing()
        base = capture_readers.take(loading, path).memory if reader == ours else 0
        click.echo(f"measuring {reader.name}, idle connections", err=True)
        taken = _median([capture_readers.take(reader, path) for _ in range(times)])
        octets = f"{(taken.memory - base) / count:,.0f}"
        table.add_row(_name(reader), f"{taken.seconds:.2f}", _megabytes(taken.memory), octets)
    return table


def _name(reader: CaptureReader) -> str:
    """The reader's name, with the share that it reads unless that is all."""
    return reader.name + (f", {reader.share:.0%}" if reader.share < 1 else "")


def _megabytes(octets: float) -> str:
    return f"{octets / 1e6:,.0f} MB"
