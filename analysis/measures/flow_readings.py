"""Readings of one flow's files, for the whole run or for a part of it."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, floor, inf, isfinite
from statistics import fmean, median, quantiles
from typing import Any, Self

import numpy as np

from analysis.measures.links import PortTraffic
from analysis.measures.trial_network import TrialNetwork
from analysis.records import output as output_module
from analysis.records.json_reader import Problems, why_not
from analysis.records.output import SocketSample, by_port
from analysis.records.run_directory import Trial
from analysis.records.spec_file import RunFlow
from analysis.records.trial_files import ExchangesFile
from topologies import untrusted
from topologies.spec import CUT_OFF

Values = Mapping[str, float]
UDP_HEADERS = 42  # bytes of Ethernet, IPv4 and UDP in front of a datagram's content
_PERCENTILES = (50, 95, 99)


@dataclass(frozen=True)
class Span:
    """A part of a run in seconds since 1970."""

    since: float
    until: float

    @property
    def seconds(self) -> float:
        return self.until - self.since

    @property
    def nanoseconds(self) -> tuple[int, int]:
        return round(1e9 * self.since), round(1e9 * self.until)

    def holds(self, time: float) -> bool:
        return self.since <= time < self.until


@dataclass(frozen=True)
class FlowReadings:
    """The values of a flow, of its `span` if metrics.csv takes them from such a group."""

    trial: Trial
    flow: RunFlow
    every_sample: Sequence[SocketSample]
    problems: Problems | None
    start: float
    traffic: TrialNetwork | None = None
    span: Span | None = None

    @property
    def connected(self) -> float:
        """Second in which the server accepted: a SYN waits in the queue of earlier flows."""
        trips = (sample.rtt for sample in self.every_sample if sample.rtt > 0)
        return self.start + next(trips, 0.0)

    @property
    def end(self) -> float:
        return self.connected + self.server["interval"]

    @cached_property
    def samples(self) -> Sequence[SocketSample]:
        if self.span is None:
            return self.every_sample
        return [sample for sample in self.every_sample if self.span.holds(sample.time)]

    @cached_property
    def server(self) -> Values:
        return _summary(self._printed("server"))

    @cached_property
    def client(self) -> Values:
        return _summary(self._client)

    @cached_property
    def sending(self) -> Values:
        """Seconds until the last byte was sent, infinite for a flow that was cut off or failed."""
        if self.is_cut:
            return {"seconds": inf}
        return {"seconds": self.client["interval"]} if self.client else {}

    @cached_property
    def has_died(self) -> bool:
        return output_module.has_died(self._client)

    @property
    def is_cut(self) -> bool:
        """True for a flow that failed, or whose duration ended before its amount had arrived."""
        return CUT_OFF in self._client or self.has_died

    @cached_property
    def _client(self) -> str:
        return self._printed("client").partition("Server Report:")[0]

    def _printed(self, side: str) -> str:
        try:
            return self.trial.files.printed(self.flow.name, side)
        except (OSError, untrusted.StrangeFile) as error:
            if self.problems is None:
                raise
            note_unread(f"{self.trial.name}/{self.flow.name}.{side}.txt", error, self.problems)
            return ""

    @cached_property
    def _application(self) -> ExchangesFile:
        return self.trial.files.exchanges(self.flow.name, self.problems or Problems())

    @cached_property
    def taken(self) -> tuple[float, ...]:
        """Milliseconds of each exchange that was due, infinite if it did not end."""
        every = (each.milliseconds for each in self._application.due)
        return tuple(inf if time is None else time for time in every)

    @property
    def begun(self) -> tuple[float, ...]:
        """Seconds of the run in which each of these exchanges began, infinite if it did not."""
        times = (each.began for each in self._application.due)
        return tuple(inf if time is None else self.start + time for time in times)

    @cached_property
    def exchanges(self) -> Values:
        """The exchanges of an application's traffic: how long each took, the unended longest."""
        found, taken = self._application, self.taken
        if not taken:
            return {}
        ended = sum(isfinite(time) for time in taken)
        values: dict[str, float] = {
            "planned": len(found.exchanges),
            "begun": sum(each.began is not None for each in found.exchanges),
            "count": ended,
            "failed": sum(bool(each.failed) for each in found.exchanges),
            "missing": len(taken) - ended,
        }
        if found.deadline:
            in_time = sum(time <= 1000 * found.deadline for time in taken)
            values["late"] = 100 * (len(taken) - in_time) / len(taken)
        return {**values, **percentiles(taken)}

    @property
    def timed(self) -> Mapping[str, Sequence[float]]:
        return {"exchange": self.taken} if self.taken else {}

    @cached_property
    def at_least(self) -> Values:
        """Bounds of percentiles of `exchanges`: an unended one took until it was last seen."""
        found = self._application
        return percentiles([found.at_least(each) for each in found.due]) if found.due else {}

    @cached_property
    def intervals(self) -> tuple[output_module.IperfInterval, ...]:
        return tuple(output_module.read_intervals(self._client))

    @cached_property
    def seconds(self) -> Values:
        rates = [interval.rate for interval in self.intervals]
        if not rates:
            return {}
        return {"mean": fmean(rates), "slowest": min(rates), "fastest": max(rates)}

    @cached_property
    def datagrams(self) -> Values:
        count = output_module.read_datagrams(self._printed("server"))
        return {**vars(count), "share": count.share} if count else {}

    @cached_property
    def socket(self) -> Values:
        """The sending socket: over time, and at the end."""
        known = [sample for sample in self.samples if sample.rtt > 0]
        values: dict[str, float] = {}
        if self.samples:
            values["reordering"] = max(sample.reordering for sample in self.samples)
        if known:
            values["least_rtt"] = 1000 * known[-1].least_rtt
        if not known or not known[-1].bytes_sent:
            return values
        last, trips = known[-1], [1000 * sample.rtt for sample in known]
        since = self.span.since if self.span else 0.0
        before = [sample for sample in self.every_sample if sample.time < since][-1:]
        sent, again, segments = (
            getattr(last, name) - sum(getattr(sample, name) for sample in before)
            for name in ("bytes_sent", "bytes_retrans", "segments_retrans")
        )
        return values | {
            "bytes_resent": 100 * again / sent if sent else 0.0,
            "resent": segments,
            "rtt_median": median(trips),
            "rtt_p95": quantiles(trips, n=20)[-1] if len(trips) > 1 else trips[0],
            "cwnd_median": median(sample.cwnd for sample in known),
        }

    @cached_property
    def sampled(self) -> Mapping[str, Sequence[float]]:
        """The values of all samples that know a round trip."""
        known = [sample for sample in self.samples if sample.rtt > 0]
        return {"rtt": [1000 * each.rtt for each in known], "cwnd": [each.cwnd for each in known]}

    @cached_property
    def kbit(self) -> float | None:
        if self.span is None:
            return self.server["rate"] * self.server["interval"] if self.server else None
        if self.flow.protocol == "udp":
            crossing = self.traffic and self.traffic.flow(self.flow)
            if not crossing:
                return None
            since, until = 1e9 * self.span.since, 1e9 * self.span.until
            came = (crossing.came >= since) & (crossing.came < until)
            return float((crossing.length[came] - UDP_HEADERS).sum()) * 8 / 1000
        if not self.every_sample:
            return None
        times = [sample.time for sample in self.every_sample]
        acked = [sample.bytes_acked for sample in self.every_sample]
        ends = np.interp([self.span.since, self.span.until], times, acked, left=0.0)
        return float(ends[1] - ends[0]) * 8 / 1000

    @cached_property
    def rates(self) -> Values:
        if self.span is None:
            return {"goodput": self.server["rate"]} if self.server else {}
        return {} if self.kbit is None else {"goodput": self.kbit / self.span.seconds}

    @cached_property
    def crossing(self) -> PortTraffic | None:
        """The packets towards the receiver that were sent in the span."""
        traffic = self.traffic and self.traffic.flow(self.flow)
        if not traffic or self.span is None:
            return traffic or None
        return traffic.within(*self.span.nanoseconds)

    @cached_property
    def crossed(self) -> Mapping[str, Any]:
        """The values of each packet that arrived, in ms; `loss` of each that was sent, in %."""
        crossing = self.crossing
        if not crossing or self.traffic is None:
            return self._completion
        common = self.traffic.common
        loaded = {"delay_under_load": crossing.within(*common).delay / 1e6} if common else {}
        return {
            "delay": crossing.delay / 1e6,
            "queueing": crossing.wait.clip(0) / 1e6,
            "loss": 100.0 * ~crossing.arrived,
            **loaded,
            **self._completion,
        }

    @cached_property
    def _completion(self) -> Values:
        """Of a flow that began in the span."""
        took = self.traffic.completion(self.flow) if self.traffic else None
        if self.span and self.crossing and not len(self.crossing.sent):
            return {}
        if self.is_cut:
            return {"completion": inf}
        return {} if took is None else {"completion": took / 1e9}

    @cached_property
    def packets(self) -> Values:
        """Percentiles over packets, and the time until the flow was complete."""
        delays = ("delay", "queueing", "delay_under_load")
        known = {name: self.crossed[name] for name in delays if len(self.crossed.get(name, ()))}
        return {**self._completion} | {
            f"{name}_{share}": value
            for name, values in known.items()
            for share, value in percentiles(values).items()
        }


def percentiles(values: Sequence[float] | Any) -> Values:
    """Return the usual percentiles of values, of which there is one at least."""
    return {f"p{share}": percentile(values, share) for share in _PERCENTILES}


def percentile(values: Sequence[float] | Any, share: float) -> float:
    """Return a percentile; infinite next to an infinite value, where NumPy makes no number."""
    if np.isfinite(values).all():
        return float(np.percentile(values, share))
    ordered, place = np.sort(values), (len(values) - 1) * share / 100
    low, high = float(ordered[floor(place)]), float(ordered[ceil(place)])
    return low if low == high else low + (high - low) * (place % 1)


def _summary(output: str) -> Values:
    found = output_module.read_summary(output)
    return {} if found is None else vars(found)


def read_samples(
    trial: Trial, sender: str, problems: Problems | None
) -> dict[str, list[SocketSample]]:
    """Read samples by port, all whole lines; without `problems` a broken file is a ValueError."""
    if problems is None:
        return trial.files.samples(sender)
    name = f"{trial.name}/{sender}.sockets.jsonl"
    try:
        lines = untrusted.text(trial.folder, f"{sender}.sockets.jsonl").splitlines()
    except (OSError, untrusted.StrangeFile) as error:
        note_unread(name, error, problems)
        return {}
    try:
        return by_port(lines)
    except ValueError as error:
        problems.add(f"{name} is cut short or broken ({error}): its last line is left out.")
    try:
        return by_port(lines[:-1])
    except ValueError:
        problems.add(f"{name} is broken in its middle: the congestion window is not drawn.")
        return {}


def note_unread(name: str, error: OSError | untrusted.StrangeFile, problems: Problems) -> None:
    why = f"cannot be read ({why_not(error)})"
    why = "is missing" if isinstance(error, FileNotFoundError) else why
    problems.left_out(f"{name} {why}")


def _none() -> array[float]:
    return array("d")


@dataclass(frozen=True)
class FlowCourse:
    """The course of a flow over time, short enough to keep for all seeds: a column per quantity.

    `times` are in seconds since 1970, `windows` in segments. `delays` are in ms: the smoothed round
    trip less the least of the flow, which is waiting in queues. `delivered` are bytes that arrived,
    also behind a gap: the count of segments, at the mean size of one. Acknowledged bytes would
    stand still at a gap, and leap above the link's rate when it is filled.
    """

    times: array[float] = field(default_factory=_none)
    delivered: array[float] = field(default_factory=_none)
    delays: array[float] = field(default_factory=_none)
    windows: array[float] = field(default_factory=_none)

    @classmethod
    def of(cls, samples: Sequence[SocketSample]) -> Self:
        """Return the course of a socket from its first measured round trip on."""
        known = [sample for sample in samples if sample.rtt > 0]
        if not known:
            return cls()
        least = min(each.least_rtt or each.rtt for each in known)
        last = known[-1]  # an old kernel does not count delivered segments
        size = last.bytes_acked / last.delivered if last.delivered else 0.0
        return cls(
            array("d", [each.time for each in known]),
            array("d", [size * each.delivered or each.bytes_acked for each in known]),
            array("d", [1000 * max(0.0, each.rtt - least) for each in known]),
            array("d", [each.cwnd for each in known]),
        )

    def __len__(self) -> int:
        return len(self.times)
