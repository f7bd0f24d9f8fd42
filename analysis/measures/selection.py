"""The flows that a selection names, their rate and its fairness, and checks of a selection.

Rates add up within one transport and one direction: two directions are two links, and UDP obeys no
congestion control.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from statistics import fmean
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from analysis.measures.expressions import Expression, Term
from topologies.errors import UsageError
from topologies.spec import TopologySpec

if TYPE_CHECKING:
    from analysis.measures.flow_readings import FlowReadings


ALGORITHM = "net.ipv4.tcp_congestion_control"


class FlowFacts(Protocol):
    """A flow, as a spec or a run's spec.json has it."""

    @property
    def name(self) -> str: ...
    @property
    def sender(self) -> str: ...
    @property
    def receiver(self) -> str: ...
    @property
    def congestion_control(self) -> str: ...
    @property
    def protocol(self) -> str: ...


Facts = TypeVar("Facts", bound=FlowFacts)


def groups_of(flows: Sequence[FlowFacts], network: TopologySpec | None) -> dict[str, str]:
    """Return each flow's transport and direction by its name, such as "tcp to h2".

    Flows have one direction if they share a port that shapes, or others join them: so two pairs of
    hosts meet at a bottleneck. Without a network those to one receiver have one.
    """
    groups: list[tuple[str, set[str], list[FlowFacts]]] = []
    for flow in flows:
        ports, members = _ports(flow, network), [flow]
        for met in [each for each in groups if each[0] == flow.protocol and each[1] & ports]:
            groups.remove(met)
            ports, members = met[1] | ports, [*met[2], *members]
        groups.append((flow.protocol, ports, members))
    named = ((f"{transport} to {of[0].receiver}", of) for transport, _, of in groups)
    return {flow.name: group for group, of in named for flow in of}


def _ports(flow: FlowFacts, network: TopologySpec | None) -> set[str]:
    """Return the shaped ports on a flow's way; its receiver without any."""
    try:
        direction = network.path(flow.sender, flow.receiver) if network and network.nodes else ()
    except (UsageError, StopIteration):
        direction = ()
    return {port.name for port in direction if port.channel} or {flow.receiver}


def main_group(groups: Iterable[str]) -> str:
    """Return the group of flows that stand for a run: TCP's first one, else the first."""
    listed = list(groups)
    return next((group for group in listed if group.startswith("tcp ")), listed[0])


def standing(rows: Sequence[Mapping[str, Any]], transport: str) -> list[Mapping[str, Any]]:
    """Return the rows of a run that stand for it: those of one transport and direction."""
    groups = [str(group) for row in rows if (group := row.get("group")) and transport in group]
    main = main_group(groups) if groups else None
    return [row for row in rows if row.get("group") == main]


def of_transport(flows: Iterable[Facts], transport: str) -> list[Facts]:
    return [flow for flow in flows if transport in ("", flow.protocol)]


def chosen(
    flows: Sequence[Facts],
    globs: str,
    groups: Mapping[str, str],
    sysctls: Iterable[tuple[str, str]] = (),
) -> list[Facts]:
    """Return the flows that one of `globs` names, if "" the main group, under these sysctls."""
    if not flows:
        return []
    if not globs:
        main = main_group(groups[flow.name] for flow in flows)
        return [flow for flow in flows if groups[flow.name] == main]
    usual, wanted = dict(sysctls).get(ALGORITHM, ""), globs.split(",")
    return [
        flow
        for flow in flows
        if any(fnmatchcase(label, glob) for label in labels(flow, usual) for glob in wanted)
    ]


def labels(flow: FlowFacts, usual: str = "") -> tuple[str, ...]:
    """Return the names of a flow; `usual` is the congestion control of its host."""
    ends = f"{flow.sender}>{flow.receiver}"
    algorithm = flow.congestion_control or usual if flow.protocol == "tcp" else ""
    return (flow.name, flow.protocol, ends, *([algorithm] if algorithm else []))


def rate(flows: Sequence[FlowReadings], spanned: Sequence[FlowReadings] = ()) -> float | None:
    """Return the goodput of these flows together in kbit/s; None if one has none.

    It is their bytes over one time: the window, or from the first start to the last end of all
    flows `spanned`. Unlike a sum of rates, that never exceeds the link's rate, and it leaves out
    no byte, as the time in which all flows send would.
    """
    kbit = [flow.kbit for flow in flows]
    if None in kbit or not flows:
        return None
    timed = spanned or flows
    if flows[0].span:
        seconds = flows[0].span.seconds
    elif len(timed) == 1:
        return flows[0].rates.get("goodput")
    elif not all(flow.server for flow in timed):
        return None
    else:
        seconds = max(flow.end for flow in timed) - min(flow.start for flow in timed)
    return sum(each for each in kbit if each is not None) / seconds


def jain(rates: Sequence[float]) -> float:
    """Return Jain's fairness index, 1 for equal rates (Jain, Chiu, Hawe: DEC-TR-301, 1984)."""
    return fmean(rates) ** 2 / fmean(rate**2 for rate in rates)


def shared(flows: Sequence[FlowReadings]) -> Mapping[str, float]:
    """Return the rates of flows of one group; their sum and fairness if every flow has a rate."""
    rates = [flow.rates["goodput"] for flow in flows if flow.rates]
    if not rates:
        return {}
    values = {"least": min(rates), "most": max(rates)}
    total = rate(flows)
    if total is not None and any(rates):
        values |= {"total": total, "jain": jain(rates)}
    sent = [flow.client["rate"] * flow.client["interval"] for flow in flows if flow.client]
    if len(sent) < len(flows):
        return values
    ends = [flow.start + flow.client["interval"] for flow in flows]
    seconds = max(ends) - min(flow.start for flow in flows)
    return values | ({"sent": sum(sent) / seconds} if seconds else {})


class ConditionFacts(Protocol):
    """A condition, as a spec or spec.json has it."""

    @property
    def name(self) -> str: ...
    @property
    def sysctls(self) -> tuple[tuple[str, str], ...]: ...


@dataclass(frozen=True)
class RunFacts:
    """The parts of a run that an expression can name, and the seconds until its end."""

    flows: Sequence[FlowFacts]
    conditions: Sequence[ConditionFacts]
    network: TopologySpec | None
    captures: Sequence[str]
    end: float

    @property
    def ports(self) -> list[str]:
        return [port.name for port in self.network.ports if port.channel] if self.network else []

    @cached_property
    def groups(self) -> dict[str, str]:
        return groups_of(self.flows, self.network)

    def require(self, expression: Expression) -> None:
        """Raise UsageError with the first reason why the run cannot have a value."""
        for term in expression.terms:
            for check in (_condition, _window, _flows, _group, _captures):
                check(self, term)

    def chosen(self, term: Term) -> list[FlowFacts]:
        flows = of_transport(self.flows, term.metric.transport)
        found = (chosen(flows, term.flows, self.groups, each.sysctls) for each in self.conditions)
        return list({flow.name: flow for of_one in found for flow in of_one}.values())

    @property
    def labels(self) -> list[str]:
        usual = [dict(condition.sysctls).get(ALGORITHM, "") for condition in self.conditions]
        found = (labels(flow, algorithm) for algorithm in usual for flow in self.flows)
        return list(dict.fromkeys(label for each in found for label in each))


def _refuse(what: str, name: str, known: Sequence[str]) -> NoReturn:
    """Raise UsageError for a name that no `known` one fits, with the nearest."""
    near = get_close_matches(name.strip("*?"), known, 2)
    remedy = f"Is {' or '.join(near)} meant?" if near else f"There are {', '.join(known)}."
    raise UsageError(f"There is no {what} '{name[:40]}'.", remedy)


def _condition(run: RunFacts, term: Term) -> None:
    names = [condition.name for condition in run.conditions]
    if term.condition and term.condition not in names:
        _refuse("condition", term.condition, names)


def _window(run: RunFacts, term: Term) -> None:
    if term.window is None:
        return
    if not term.metric.windowed:
        raise UsageError(
            f"{term.metric.name} is known of the whole run only.",
            "Leave its window out, or use goodput, rtt, delay or queueing.",
        )
    if term.window.since >= run.end or (term.window.until or 0) > run.end:
        raise UsageError(
            f"The window {term.window.words} is outside the run, which ends at {run.end:g} s.",
            "Choose another window, or a longer duration.",
        )


def _flows(run: RunFacts, term: Term) -> None:
    if term.flows and not term.metric.of_flows:
        why = f"{term.metric.name} belongs to the whole run and not to a flow."
        raise UsageError(why, f"Leave [{term.flows}] out.")
    known = [*run.labels, *(run.ports if term.metric.name == "queueing" else ())]
    for glob in filter(None, term.flows.split(",")):
        if not any(fnmatchcase(label, glob) for label in known):
            _refuse("flow", glob, known)
    if term.metric.transport and not run.chosen(term):
        kind = term.metric.transport.upper()
        why = f"{term.metric.name} is known of {kind} flows only."
        raise UsageError(why, f"Choose a flow of {kind}.")


def _group(run: RunFacts, term: Term) -> None:
    flows = run.chosen(term)
    groups = list(dict.fromkeys(run.groups[flow.name] for flow in flows))
    one = [flow.name for flow in flows if run.groups[flow.name] == groups[0]]
    if term.metric.is_rate and term.statistic in ("", "jain") and len(groups) > 1:
        raise UsageError(
            f"{term.metric.name}[{term.flows}] adds up flows of {' and '.join(groups)}.",
            f"Choose flows of one transport and direction, such as [{','.join(one[:3])}].",
        )


def _captures(run: RunFacts, term: Term) -> None:
    if not term.metric.of_packets:
        return
    hosts = (host for flow in run.chosen(term) for host in (flow.sender, flow.receiver))
    for host in hosts:
        if not any(name.startswith(f"{host}-") for name in run.captures):
            raise UsageError(
                f"{term.metric.name} needs a capture at {host}, and the run has none.",
                "Add its interface to the captures of the spec.",
            )
