"""The frames and lines of a run's files that prove something: evidence that is asked for.

A measure is called frame.INTERFACE.EVENT.NUMBER, its value is the frame's time in seconds since the
capture's first packet, as Wireshark counts and shows both. Likewise frame.HOST.sockets.EVENT.NUMBER
is a line of HOST.sockets.jsonl, counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from analysis import flows
from analysis.flows.columns import KIND, RETRANSMISSIONS
from analysis.records.run_directory import RunRecord, Trial
from analysis.records.socket_samples import by_port
from analysis.tabular.column_table import ColumnTable, Truths
from analysis.tabular.row_groups import RowGroups
from topologies.foundation import untrusted
from topologies.foundation.errors import TcplabError

PREFIX = "frame."
_MOST = 3000
"""Frames of one event; what is more frequent is no evidence, since any guess would be right."""
_PAUSE = 250_000_000
"""ns without a segment of data, as in analysis.measures.results."""


def frame_values(folder: Path, captures: Sequence[str]) -> dict[str, float]:
    """The evidence in a condition's captures; nothing of one that cannot be read."""
    values: dict[str, float] = {}
    for name in captures:
        try:
            packets = flows.read(folder / f"{name}.pcap", packets=True).packet_table
        except (TcplabError, OSError):
            continue
        if packets is not None and len(packets):
            values |= dict(_named(name, packets))
    return values


def line_values(run: RunRecord, trial: Trial) -> dict[str, float]:
    """The evidence in the samples of the first TCP flow's socket.

    `cut` is a line whose congestion window is a fifth or more below that of the line before, `peak`
    one whose smoothed round trip is within a twentieth of the longest. Raises ValueError on a
    broken line.
    """
    flow = next((flow for flow in run.flows if flow.protocol == "tcp"), run.flow)
    host = flow.sender
    lines = untrusted.text_if_any(trial.folder, f"{host}.sockets.jsonl").splitlines()
    samples = {
        number: sample
        for number, line in enumerate(lines, 1)
        for sample in by_port([line]).get(str(flow.port), [])[:1]
    }
    longest = max((sample.rtt for sample in samples.values()), default=0.0)
    first = next(iter(samples.values())).time if samples else 0.0
    values = {}
    for number, sample in samples.items():
        before = samples.get(number - 1)
        kinds = {
            "cut": before is not None and sample.cwnd <= 0.8 * before.cwnd,
            "peak": sample.rtt >= 0.95 * longest,
        }
        for event in (name for name, holds in kinds.items() if holds):
            values[f"{PREFIX}{host}.sockets.{event}.{number}"] = sample.time - first
    return values


def _named(interface: str, packets: ColumnTable) -> Iterator[tuple[str, float]]:
    number, times = packets.whole("number"), packets.whole("time")
    since = (times - times[0]) / 1e9
    for event, fits in events(packets).items():
        if fits.sum() <= _MOST:
            for at in np.flatnonzero(fits):
                yield f"{PREFIX}{interface}.{event}.{number[at]}", float(since[at])


def events(packets: ColumnTable) -> dict[str, Truths]:
    """For each event the packets that it names."""
    kind, flags, payload = (packets[name].values for name in ("kind", "flags", "payload"))
    forward, connection = packets["forward"].values, packets["connection"].values
    opens, acknowledges, data = flags & 2 > 0, flags & 16 > 0, payload > 0
    again = data & np.isin(kind, [KIND[name] for name in RETRANSMISSIONS])
    copies = RowGroups(connection, forward, packets["sequence"].values)
    before, after = _pauses(packets, data)
    return {
        "syn": opens & ~acknowledges,
        "syn_ack": opens & acknowledges,
        "resent": again,
        **{name: data & (kind == KIND[name]) for name in RETRANSMISSIONS},
        "first_copy": data & ~again & (copies.spread(copies.sums(again)) > 0),
        "after_pause": after,
        "before_pause": before,
        "with_blocks": ~data & (packets.lists("sacks").lengths > 0),
        "dsack": ~data & packets["dsack"].values,
    }


def _pauses(packets: ColumnTable, data: Truths) -> tuple[Truths, Truths]:
    """The segments of data before and after a pause of their direction."""
    rows, times = np.flatnonzero(data), packets.whole("time")[data]
    names = ("connection", "forward")
    previous = RowGroups(*(packets[name].values[data] for name in names)).previous
    late = np.flatnonzero((previous >= 0) & (times - times[previous] >= _PAUSE))
    before, after = np.zeros((2, len(packets)), np.bool_)
    before[rows[previous[late]]] = after[rows[late]] = True
    return before, after
