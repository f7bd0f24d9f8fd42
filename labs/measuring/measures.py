"""Measures of a run's raw files, as numbers by condition and key, for a lab's key.

Keys are those of analysis.measures.metrics (server.rate, nstat.TcpRetransSegs,
sender.rexmt_data_pkts, pauses.total, ...), FLOW.METRIC for each flow, and run.METRIC for all flows
with the columns of a sweep.

Evidence is called frame.INTERFACE.EVENT.NUMBER. Its value is the frame's time in seconds since the
capture's first packet, as Wireshark counts and shows both. frame.HOST.sockets.EVENT.NUMBER is a
line of HOST.sockets.jsonl, counted from 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from analysis import flows
from analysis.flows.columns import KIND, RETRANSMISSIONS
from analysis.measures.metrics import columns, metric
from analysis.measures.readings import TrialReadings
from analysis.measures.results import measure
from analysis.records.json_reader import Problems
from analysis.records.run_directory import RunRecord, Trial, read_run
from analysis.records.socket_samples import by_port
from analysis.tabular.row_groups import RowGroups
from analysis.tabular.table import ColumnTable, Truths
from topologies.foundation import untrusted
from topologies.foundation.errors import TcplabError

PREFIX = "frame."
_MOST = 3000
"""Frames of one event; what is more frequent is no evidence, since any guess would be right."""
_PAUSE = 250_000_000
"""ns without a segment of data, as in analysis.measures.results."""


def frame_values(folder: Path, captures: Sequence[str]) -> dict[str, float]:
    """Return the evidence in a condition's captures; unreadable ones are left out."""
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
    """Return the evidence in the samples of the first TCP flow's socket.

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
        "timeout": _timed_out(packets, data),
        "after_pause": after,
        "before_pause": before,
        "with_blocks": ~data & (packets.lists("sacks").lengths > 0),
        "dsack": ~data & packets["dsack"].values,
    }


def _timed_out(packets: ColumnTable, data: Truths) -> Truths:
    """Return the segments that the sender's timer repeated, by a capture at the sender.

    The timer repeats the lowest segment that is not acknowledged, 200 ms at the soonest after the
    last progress (RFC 6298; TCP_RTO_MIN of Linux), and no packet of the peer sets it off.
    """
    found = np.zeros(len(packets), np.bool_)
    connection, forward = packets["connection"].values, packets["forward"].values
    for number in np.unique(connection):
        for direction in (True, False):
            sent = (connection == number) & (forward == direction)
            back = (connection == number) & (forward != direction)
            found |= _timed_out_towards(packets, data & sent, back)
    return found


def _timed_out_towards(packets: ColumnTable, sent: Truths, back: Truths) -> Truths:
    times, sequence = packets.whole("time"), packets["sequence"].values.astype(np.int64)
    acknowledged = np.where(back, packets["acknowledgement"].values.astype(np.int64), 0)
    lowest = np.maximum.accumulate(acknowledged)
    advanced = _latest(times, np.diff(lowest, prepend=0) > 0)
    heard = _latest(times, back)
    rows = np.flatnonzero(sent)
    previous = RowGroups(sequence[rows]).previous
    repeated, before = rows[previous >= 0], rows[previous[previous >= 0]]
    waited = times[repeated] - np.maximum(times[before], advanced[repeated]) >= _LEAST_TIMEOUT
    alone = times[repeated] - heard[repeated] >= _REACTION
    found = np.zeros(len(packets), np.bool_)
    found[repeated[waited & alone & (sequence[repeated] == lowest[repeated])]] = True
    return found


def _latest(times: np.ndarray, which: Truths) -> np.ndarray:
    """Return for each packet the time of the latest of those before it, or its own."""
    rows = np.maximum.accumulate(np.where(which, np.arange(len(times)), 0))
    return np.asarray(times[rows])


def _pauses(packets: ColumnTable, data: Truths) -> tuple[Truths, Truths]:
    """Return the segments of data before and after a pause of their direction."""
    rows, times = np.flatnonzero(data), packets.whole("time")[data]
    names = ("connection", "forward")
    previous = RowGroups(*(packets[name].values[data] for name in names)).previous
    late = np.flatnonzero((previous >= 0) & (times - times[previous] >= _PAUSE))
    before, after = np.zeros((2, len(packets)), np.bool_)
    before[rows[previous[late]]] = after[rows[late]] = True
    return before, after


_LEAST_TIMEOUT, _REACTION = 190_000_000, 100_000
"""ns: Linux's least time-out less a tick, and within which a sender reacts to a packet."""
EVENTS = (
    "syn",
    "syn_ack",
    "resent",
    *RETRANSMISSIONS,
    "first_copy",
    "timeout",
    "after_pause",
    "before_pause",
    "with_blocks",
    "dsack",
    "cut",
    "peak",
)
"""The events of frames, and of lines of sockets' samples (the last two)."""
Values = dict[str, dict[str, int | float]]
"""Condition to key to value."""
_CAPTURED = re.compile(r"^(\d{1,12}) packets? captured", re.MULTILINE)
_MOST_FILES = 10_000
_OF_RUN = {column.name for column in columns().values() if column.of_run}
_OF_FLOW = {column.name for column in columns().values() if not column.of_run}
_WITNESSES = {"ss.bytes_sent", "ss.bytes_retrans", "tcpdump.sender", "tcpdump.receiver"}


class UnknownName(TcplabError, KeyError):
    """A lab's key names a condition or an event that does not exist."""


@dataclass(frozen=True)
class MeasuredRun:
    """A run of a lab: the values of each of its seeds."""

    seeds: tuple[Values, ...]

    def __call__(self, condition: str, key: str) -> float:
        """Return the value, the median of several seeds. Raises KeyError, UnknownMetric."""
        _require_known(key)
        self._require_condition(condition)
        return median(values[condition][key] for values in self.seeds)

    def _require_condition(self, condition: str) -> None:
        if condition not in self.seeds[0]:
            known = ", ".join(self.seeds[0])
            raise UnknownName(f"The run has no condition '{condition[:40]}'.", f"It has: {known}.")

    def frames(self, capture: str, event: str) -> dict[int, float]:
        """Return the first seed's frames of `capture`, CONDITION/INTERFACE, with times in s."""
        condition, _, interface = capture.partition("/")
        self._require_condition(condition)
        if event not in EVENTS:
            raise UnknownName(
                f"There is no event '{event[:40]}'.", f"There is: {', '.join(EVENTS)}."
            )
        beginning = f"{PREFIX}{interface}.{event}."
        return {
            int(key.removeprefix(beginning)): time
            for key, time in self.seeds[0][condition].items()
            if key.startswith(beginning)
        }


def _require_known(key: str) -> None:
    """Raises UnknownMetric for a key that is misspelt."""
    group, _, name = key.partition(".")
    if key in _WITNESSES or name in (_OF_RUN if group == "run" else _OF_FLOW):
        return
    metric(key)


Runs = Mapping[str, MeasuredRun]
"""The runs of a lab by name."""


def measured(raw: Path, data: Any, seed: int) -> dict[str, Any]:
    """`values` and `files` (their digests) of a seed, whose raw files are in FOLDER/raw/seed-SEED.

    FOLDER is trusted, and is made a run directory. Raises TcplabError.
    """
    folder = raw.parent.parent
    as_run_directory(folder, data, [seed])
    values: Values | None = values_of(str(folder)).get(str(seed))
    if values is None:
        raise TcplabError(
            "The guest left no files that can be measured.", "Its module may have ended it."
        )
    return {"values": values, "files": _digests(raw, data)}


def _digests(raw: Path, data: Any) -> dict[str, str]:
    """Return the digests of conditions' files, without logs, which name paths and processes."""
    names = [
        path.relative_to(raw).as_posix()
        for condition in data["conditions"]
        for path, _ in sorted(untrusted.entries(raw / condition["name"], 1, _MOST_FILES))
    ]
    return {f"{raw.name}/{name}": untrusted.digest(raw, name) for name in names}


def values_of(folder: str) -> dict[str, Values]:
    """Return the values by seed of the run directory at `folder`."""
    problems = Problems()
    run = read_run(Path(folder), problems)
    values: dict[str, Values] = {}
    for trial in run.trials:
        values.setdefault(str(trial.seed), {})[trial.condition.name] = _values(run, trial, problems)
    return values


def _values(run: RunRecord, trial: Trial, problems: Problems) -> dict[str, float]:
    # One flow is what analysis.measures.results follows; a study of many is in its rows.
    values = measure(run, trial, problems, draw=False).by_name
    try:
        values |= _rows(run, trial) | _witnesses(run, trial)
        values |= frame_values(trial.folder, run.captures) | line_values(run, trial)
    except (ValueError, RecursionError, OSError) as error:
        problems.add(f"{trial.name}: the samples of the sockets are broken ({error}).")
    return {key: round(value, 9) for key, value in values.items()}


def _rows(run: RunRecord, trial: Trial) -> dict[str, float]:
    values: dict[str, float] = {}
    for row in TrialReadings(run, trial).rows:
        for name, value in row.items():
            if isinstance(value, float | int):
                key = f"run.{name}" if name in _OF_RUN else f"{row['flow']}.{name}"
                values[key] = float(value)
    return values


def _witnesses(run: RunRecord, trial: Trial) -> dict[str, float]:
    counts: dict[str, float] = {}
    lines = untrusted.text_if_any(trial.folder, f"{run.flow.sender}.sockets.jsonl").splitlines()
    samples = by_port(lines).get(str(run.flow.port), [])
    if samples:
        counts |= {
            "ss.bytes_sent": samples[-1].bytes_sent,
            "ss.bytes_retrans": samples[-1].bytes_retrans,
        }
    for role, host in (("sender", run.flow.sender), ("receiver", run.flow.receiver)):
        messages = untrusted.text_if_any(trial.folder, f"{run.capture_of(host)}.tcpdump.txt")
        if count := _CAPTURED.search(messages):
            counts[f"tcpdump.{role}"] = float(count[1])
    return counts


def as_run_directory(folder: Path, spec: Any, seeds: Sequence[int]) -> None:
    """Write what makes raw files in `folder`/raw a run directory that can be measured."""
    (folder / "spec.json").write_text(json.dumps(spec))
    (folder / "manifest.json").write_text(json.dumps({"format": 1, "seeds": list(seeds)}))
