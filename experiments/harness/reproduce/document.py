"""Content of reproduction.json: a row for each published number, with our values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.statistics.published import TOLERANCE
from experiments.harness.definition.catalogue import find
from experiments.harness.definition.grid import Combination
from experiments.harness.published.kernel import PeriodKernelChoice
from experiments.harness.published.points import (
    TIMES,
    Time,
    command,
    condition_of,
    described,
    profile_of,
    taken,
    times,
)
from experiments.harness.published.target import Target, published_study
from experiments.harness.sweep.point import Record
from experiments.spec import ExperimentSpec, Flow


@dataclass
class ReproducedRuns:
    """The combinations of each target, and the records of their seeds that are known.

    A record's key is the combination's digest, the expression that it has, and the seed. `kernels`
    are those of the studies' times, by study.
    """

    combinations: dict[Target, dict[Time, Combination]] = field(default_factory=dict)
    records: dict[tuple[str, str, int], Record] = field(default_factory=dict)
    kernels: Mapping[str, PeriodKernelChoice] = field(default_factory=dict)

    def of(self, target: Target, time: Time) -> list[tuple[int, Record]]:
        """Return the seeds of a target in order, with their records."""
        combination = self.combinations.get(target, {}).get(time)
        if combination is None:
            return []
        return [
            (seed, record)
            for (digest, expression, seed), record in sorted(self.records.items())
            if (digest, expression) == (combination.digest, target.expression)
        ]


def studies(
    targets: Sequence[Target], carried: ReproducedRuns, quick: bool
) -> list[dict[str, Any]]:
    """Return the studies in the order of their targets."""
    names = list(dict.fromkeys(target.experiment for target in targets))
    return [
        _study(name, [target for target in targets if target.experiment == name], carried, quick)
        for name in names
    ]


def _study(
    name: str, targets: Sequence[Target], carried: ReproducedRuns, quick: bool
) -> dict[str, Any]:
    study, profile = published_study(name), profile_of(name)
    settings = (*profile.settings, *profile.path) if profile else ()
    return {
        "name": name,
        "claim": find(name).claim,
        "source": study.source,
        "profile": [
            {"name": setting.name, "value": setting.value, "reason": setting.reason}
            for setting in settings
        ],
        "profile_differs": profile.differs if profile else "",
        "kernel": _kernel(name, carried.kernels.get(name)),
        "notes": [*([study.short_form] if quick and study.short_form else []), *study.notes],
        "plot": study.plot,
        "rows": [_row(target, carried) for target in targets],
        "failures": list(_failures(targets, carried)),
    }


def _kernel(name: str, choice: PeriodKernelChoice | None) -> dict[str, Any] | None:
    """Return the published kernel, and the lab's kernel on which it was repeated, if any."""
    kernel = published_study(name).kernel
    if kernel is None:
        return None
    return {
        "linux": kernel.linux,
        "known": kernel.known,
        "taken": choice.series if choice else "",
        "remarks": list(choice.remarks) if choice else [],
    }


def _row(target: Target, carried: ReproducedRuns) -> dict[str, Any]:
    values, proved = dict[str, list[float]](), set[int]()
    for time in TIMES:
        runs = [run for run in carried.of(target, time) if run[1]["status"] == "complete"]
        rows = (record["rows"] for _, record in runs)
        values[time] = taken(target, condition_of(target, time), rows) if runs else []
        proved |= {seed for seed, _ in runs}
    return {
        **described(target),
        **_setting(target, carried),
        **values,
        "seeds": sorted(proved),
        "command": command(target) if carried.combinations.get(target) else None,
    }


def _setting(target: Target, carried: ReproducedRuns) -> dict[str, Any]:
    """Return the name that all rows of one published setting share, and if its link was full."""
    combination = carried.combinations.get(target, {}).get(times(target.experiment)[-1])
    return {
        "setting": " ".join([*map("=".join, target.settings), target.condition]),
        "line_rate": combination is not None and at_line_rate(target, combination.spec),
    }


def _failures(targets: Iterable[Target], carried: ReproducedRuns) -> Iterable[dict[str, Any]]:
    """Yield a line for each target and problem, with its seeds."""
    seeds: dict[tuple[str, str], set[int]] = {}
    for target in targets:
        for seed, record in [run for time in TIMES for run in carried.of(target, time)]:
            if record["status"] != "complete":
                seeds.setdefault((target.where, record["problem"]), set()).add(seed)
    for (place, problem), failed in seeds.items():
        yield {
            "where": f"{place}, seed {', '.join(map(str, sorted(failed)))}",
            "problem": problem,
            "log": None,
        }


_FULL = 1 - TOLERANCE
"""Share of the link's payload rate from which a full link agrees with the published number."""
_UNITS = {"Mbit/s": 1e6, "kbit/s": 1e3}
_FRAME_HEADER, _HEADERS = 14, 52  # bytes of Ethernet; of IP and TCP with timestamps


def at_line_rate(target: Target, spec: ExperimentSpec) -> bool:
    """Return whether the published number is the rate of the link, or of the sender's datagrams.

    A time counts by the amount that a flow sends in it. One of several flows never counts.
    """
    prefix = target.flow.removesuffix("*")  # as analysis.measures.results.value_of takes it
    flows = [flow for flow in spec.flows if flow.name.startswith(prefix)]
    rate = _published_rate(target, flows)
    return bool(rate) and rate >= _FULL * min(_highest(spec, flow) for flow in flows)


def _published_rate(target: Target, flows: list[Flow]) -> float:
    """Return bits of payload a second; 0 for what is no rate of all these flows."""
    if not target.published or target.among or target.listed:
        return 0.0
    if target.unit == "s" and len(flows) == 1 and flows[0].amount:
        return 8 * flows[0].amount.base / target.published
    return target.published * _UNITS.get(target.unit, 0.0)


def _highest(spec: ExperimentSpec, flow: Flow) -> float:
    """Return the payload rate of the slowest link, or the rate at which a sender of UDP sends."""
    if flow.rate:
        return float(flow.rate.base)
    ports = spec.topology.path(flow.sender, flow.receiver)
    rates = [port.channel.bandwidth.base for port in ports if port.channel]
    mtu = spec.topology.mtu.base
    return min(rates) * (mtu - _HEADERS) / (mtu + _FRAME_HEADER)
