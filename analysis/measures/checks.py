"""Checks of an expression against the run that it is about, before that run starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from functools import cached_property
from typing import NoReturn, Protocol

from analysis.measures.expressions import Expression, Term
from analysis.measures.together import ALGORITHM, FlowFacts, chosen, groups_of, labels, of_transport
from topologies.errors import UsageError
from topologies.spec import TopologySpec


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
        """The transport and direction of each flow by its name."""
        return groups_of(self.flows, self.network)

    def require(self, expression: Expression) -> None:
        """Raise UsageError with the first reason why the run cannot have a value."""
        for term in expression.terms:
            for check in (_condition, _window, _flows, _group, _captures):
                check(self, term)

    def chosen(self, term: Term) -> list[FlowFacts]:
        """Return the flows that the term names under any condition."""
        flows = of_transport(self.flows, term.metric.transport)
        found = {
            flow.name: flow
            for condition in self.conditions
            for flow in chosen(flows, term.flows, self.groups, condition.sysctls)
        }
        return list(found.values())

    @property
    def labels(self) -> list[str]:
        """Everything that names a flow under any condition."""
        found = (
            label
            for condition in self.conditions
            for flow in self.flows
            for label in labels(flow, dict(condition.sysctls).get(ALGORITHM, ""))
        )
        return list(dict.fromkeys(found))


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
        raise UsageError(
            f"{term.metric.name} belongs to the whole run and not to a flow.",
            f"Leave [{term.flows}] out.",
        )
    known = [*run.labels, *(run.ports if term.metric.name == "queueing" else ())]
    for glob in filter(None, term.flows.split(",")):
        if not any(fnmatchcase(label, glob) for label in known):
            _refuse("flow", glob, known)
    if term.metric.transport and not run.chosen(term):
        kind = term.metric.transport.upper()
        raise UsageError(
            f"{term.metric.name} is known of {kind} flows only.", f"Choose a flow of {kind}."
        )


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
    for flow in run.chosen(term):
        for host in (flow.sender, flow.receiver):
            if not any(name.startswith(f"{host}-") for name in run.captures):
                raise UsageError(
                    f"{term.metric.name} needs a capture at {host}, and the run has none.",
                    "Add its interface to the captures of the spec.",
                )
