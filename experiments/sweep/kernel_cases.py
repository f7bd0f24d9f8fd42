"""Standing set of `tcplab kernel compare`: networks on which changes of TCP have shown.

A case is a spec and its measures, as kernel_cases.toml describes it. Most use several independent
paths at once (topologies.shapes), so that one guest measures many.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from analysis.measures.metrics import Metric, metric
from experiments.spec import Condition, ExperimentSpec, Flow, congestion_control, sack
from topologies.data import from_data
from topologies.errors import UsageError
from topologies.shapes import dumbbell, separate_pairs, two_hosts
from topologies.spec import Channel, TopologySpec
from topologies.units import Packets, Rate

_PATH = {"bandwidth": "20mbit", "delay": "20ms", "queue": "1000"}
_BACK = Channel(Rate.parse("1gbit"), queue=Packets(10_000))
_CONDITIONS = {
    condition.name: condition
    for condition in (
        Condition("usual", "CUBIC, as usual"),  # flows that are over before a sample prove nothing
        Condition("ecn", "ECN", (("net.ipv4.tcp_ecn", "1"),)),
        *map(congestion_control, ("cubic", "reno", "bbr")),
        *map(sack, (False, True)),
    )
}


@dataclass(frozen=True)
class KernelMeasure:
    """A figure of a case: a metric of one flow, or `pick` of all flows if that is empty."""

    label: str
    condition: str
    metric: Metric
    flow: str = ""
    pick: Literal["mean", "largest"] = "mean"


@dataclass(frozen=True)
class KernelCase:
    """A spec, a sentence about it, and its measures."""

    sentence: str
    spec: ExperimentSpec
    measures: tuple[KernelMeasure, ...]

    @property
    def name(self) -> str:
        return self.spec.name.removeprefix("kernel_")


def standing_set() -> tuple[KernelCase, ...]:
    """Return all cases, in the order of a page."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return tuple(_case(entry) for entry in tomllib.loads(text)["case"])


def _case(entry: Mapping[str, Any]) -> KernelCase:
    paths = {
        name.format(number): path
        for name, path in entry["paths"].items()
        for number in range(1, path.get("copies", 1) + 1)
    }
    facts = {"copies", "metrics"}
    channels = [
        from_data(Channel, _PATH | {key: path[key] for key in path.keys() - facts})
        for path in paths.values()
    ]
    receiver = "h2" if entry.get("shape") == "two_hosts" else "r{}"
    flows = tuple(
        from_data(
            Flow,
            {"name": _flow_name(path), "sender": f"h{at}", "receiver": receiver.format(at)}
            | {"duration": "10s", **entry.get("flow", {})},
        )
        for at, path in enumerate(paths, 1)
    )
    conditions = tuple(_CONDITIONS[name] for name in entry["conditions"])
    spec = ExperimentSpec(
        f"kernel_{entry['name']}", "", _network(entry, channels), flows, conditions
    )
    return KernelCase(entry["sentence"], spec, tuple(_measures(entry, paths, conditions)))


def _network(entry: Mapping[str, Any], channels: Sequence[Channel]) -> TopologySpec:
    """Return paths whose way back is fast and lossless, unless the case has another shape."""
    if shape := entry.get("shape"):
        one = channels[0]
        return two_hosts(one) if shape == "two_hosts" else dumbbell(len(channels), one)
    back = tuple(replace(_BACK, delay=channel.delay) for channel in channels)
    return separate_pairs(tuple(channels), back)


def _measures(
    entry: Mapping[str, Any], paths: Mapping[str, Any], conditions: Sequence[Condition]
) -> Iterator[KernelMeasure]:
    for condition in conditions:
        for name, path in paths.items():
            label = entry.get("label", "{path}").format(condition=condition.label, path=name)
            for each in path.get("metrics", entry.get("metrics", ())):
                measured = metric(f"metric.{each}")
                yield KernelMeasure(label, condition.name, measured, _flow_name(name))
        if "flow" in entry and "metrics" not in entry:
            seconds = metric("metric.seconds")
            yield KernelMeasure("all flows", condition.name, seconds)
            yield KernelMeasure("the slowest flow", condition.name, seconds, pick="largest")


def _flow_name(path: str) -> str:
    """Return a flow's name, which also names files."""
    return path.replace(" ", "_").replace("%", "").replace(".", "_").replace(",", "")


def chosen_cases(names: tuple[str, ...]) -> tuple[KernelCase, ...]:
    """Return the cases of these names, all without a name. Raises UsageError."""
    cases = {case.name: case for case in standing_set()}
    if unknown := sorted(set(names) - set(cases)):
        raise UsageError(f"There is no case '{unknown[0][:40]}'.", f"There are {', '.join(cases)}.")
    return tuple(case for name, case in cases.items() if not names or name in names)
