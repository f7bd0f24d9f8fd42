"""The frames and lines of a run's files that prove something: evidence that is asked for.

A measure is called frame.INTERFACE.EVENT.NUMBER, its value is the frame's time in seconds since the
capture's first packet, as Wireshark counts and shows both. Likewise frame.HOST.sockets.EVENT.NUMBER
is a line of HOST.sockets.jsonl, counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analysis import flows
from analysis.flows.columns import KIND, RETRANSMISSIONS
from analysis.records.run_directory import RunRecord, Trial
from analysis.records.socket_samples import by_port
from topologies import untrusted
from topologies.errors import TcplabError

if TYPE_CHECKING:
    import polars

PREFIX = "frame."
_MOST = 3000
"""Frames of one event; what is more frequent is no evidence, since any guess would be right."""
_PAUSE = 250_000_000
"""ns without a segment of data, as in analysis.measures.trial_measures."""


def frame_values(folder: Path, captures: Sequence[str]) -> dict[str, float]:
    """The evidence in a condition's captures; nothing of one that cannot be read."""
    values: dict[str, float] = {}
    for name in captures:
        try:
            packets = flows.read(folder / f"{name}.pcap", packets=True).packets
        except (TcplabError, OSError):
            continue
        if packets is not None and packets.height:
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


def _named(interface: str, packets: polars.DataFrame) -> Iterator[tuple[str, float]]:
    first = packets["time"][0]
    for event, rows in events(packets).items():
        if rows.height <= _MOST:
            for number, time in rows.select("number", "time").iter_rows():
                yield f"{PREFIX}{interface}.{event}.{number}", (time - first) / 1e9


def events(packets: polars.DataFrame) -> dict[str, polars.DataFrame]:
    """The packets that each event names."""
    import polars

    kind, flags = polars.col("kind"), polars.col("flags")
    opens, acknowledges = (flags & 2) > 0, (flags & 16) > 0
    data = packets.filter(polars.col("payload") > 0)
    sent_again = kind.is_in([KIND[name] for name in RETRANSMISSIONS])
    place = ["connection", "forward", "sequence"]
    again = data.filter(sent_again)
    pauses = data.with_columns(
        before=polars.col("time").diff().over("connection", "forward"),
        after=-polars.col("time").diff(-1).over("connection", "forward"),
    )
    acknowledgements = packets.filter(polars.col("payload") == 0)
    return {
        "syn": packets.filter(opens & ~acknowledges),
        "syn_ack": packets.filter(opens & acknowledges),
        "resent": again,
        **{name: data.filter(kind == KIND[name]) for name in RETRANSMISSIONS},
        "first_copy": data.filter(~sent_again).join(again, on=place, how="semi"),
        "after_pause": pauses.filter(polars.col("before") >= _PAUSE),
        "before_pause": pauses.filter(polars.col("after") >= _PAUSE),
        "with_blocks": acknowledgements.filter(polars.col("sacks").list.len() > 0),
        "dsack": acknowledgements.filter(polars.col("dsack")),
    }
