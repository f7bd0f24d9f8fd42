"""Fields of the link, by names such as link.discipline and link.target, for every study.

The link is the slowest channel on the way of each flow, there and back. Its fields are those of a
channel, and the parameters of its discipline; link.cake.bandwidth is the rate of cake's shaper.
`link.trace` gives the way of each flow's data rates over time, as in the module trace.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from experiments.harness.definition.trace import PACKAGED, with_trace
from experiments.spec import ExperimentSpec
from topologies.disciplines import discipline, disciplines
from topologies.disciplines.base import Discipline
from topologies.foundation.data import from_data
from topologies.foundation.errors import UsageError
from topologies.foundation.names import close_to
from topologies.topology_spec import Channel, Link

PREFIX = "link."
_DIGITS = 6
"""Digits of a share that tc prints."""
DISCIPLINE = "link.discipline"
_HINTS = typing.get_type_hints(Channel)
_TRACE = "trace"
_FIELDS = {field.name for field in dataclasses.fields(Channel)} - {"settings"} | {_TRACE}


def meant(name: str) -> tuple[type, str]:
    """Return the type of a field of the link, and a sentence about it. Raises UsageError."""
    field = name.removeprefix(PREFIX)
    if field == _TRACE:
        return str, f"Rates over time: a trace of Mahimahi, or {' or '.join(PACKAGED)}."
    if field in _FIELDS:
        return _HINTS[field], f"Field of the link: {field}."
    named = [(one, each) for one in disciplines().values() for each in one.parameters]
    found = [each for one, each in named if each.name == _own(field, one)]
    if not found:
        names = [*sorted(_FIELDS), *sorted({each.name for _, each in named})]
        raise UsageError(
            f"The link has no field '{field[:60]}'.",
            f"{close_to(field, names)}Its fields are {', '.join(names)}.",
        )
    kinds = {each.kind for each in found}
    return (kinds.pop() if len(kinds) == 1 else str), found[0].meaning


def _own(field: str, managed: Discipline) -> str:
    """Return the name of a parameter of the discipline, which may be in front: cake.bandwidth."""
    return field.removeprefix(f"{managed.name}.")


def with_link(spec: ExperimentSpec, chosen: Mapping[str, str], lenient: bool) -> ExperimentSpec:
    """Return the spec with these fields of its link. Raises UsageError.

    `lenient` leaves out parameters that the discipline lacks.
    """
    fields = {name.removeprefix(PREFIX): value for name, value in chosen.items()}
    trace = fields.pop(_TRACE, "")
    if trace and "bandwidth" in fields:
        raise UsageError("A link has a trace and a bandwidth.", "Leave out one of both.")
    own = {name: from_data(_HINTS[name], fields[name]) for name in fields if name in _FIELDS}
    given = {name: value for name, value in fields.items() if name not in _FIELDS}
    shaped = bottlenecks(spec)
    changed: dict[Channel, Channel] = {}
    for channel in shaped:
        changed[channel] = _changed(channel, own, given, lenient)

    def put(channel: Channel | None) -> Channel | None:
        return changed.get(channel, channel) if channel else None

    links = tuple(
        Link(each.left, each.right, put(each.rightward), put(each.leftward))
        for each in spec.topology.links
    )
    changes = tuple(
        replace(change, channel=_changed(change.channel, own, given, lenient))
        for change in spec.changes
    )
    topology = replace(spec.topology, links=links)
    made = replace(spec, topology=topology, changes=changes)
    return with_trace(made, trace) if trace else made


def _changed(
    channel: Channel, own: Mapping[str, Any], given: Mapping[str, str], lenient: bool
) -> Channel:
    managed = discipline(own.get("discipline", channel.discipline))
    names = {each.name for each in managed.parameters}
    kept = dict(channel.settings) if managed.name == channel.discipline else {}
    own_given = {_own(name, managed): value for name, value in given.items()}
    wanted = {name: value for name, value in own_given.items() if name in names or not lenient}
    for name in wanted:
        _require_parameter(managed, name)
    return replace(channel, **own, settings=tuple((kept | wanted).items()))


def refuse_what_tc_rounds(spec: ExperimentSpec) -> None:
    """Raise UsageError for a share of losses whose digits could not be read back."""
    for port in spec.topology.ports:
        model = port.channel and port.channel.bursts
        shares = (model.p, model.r, model.bad, model.good) if model else ()
        for share in (*shares, *((port.channel.loss,) if port.channel else ())):
            digits = str(share).rstrip("%").replace(".", "").strip("0")
            if len(digits) > _DIGITS:
                raise UsageError(
                    f"A loss of {share} has more digits than tc shows.",
                    f"Write at most {_DIGITS} digits, such as 0.252525%.",
                )


def bottlenecks(spec: ExperimentSpec) -> set[Channel]:
    """Return the slowest channel on the way of each flow, there and back."""
    ends = [(flow.sender, flow.receiver) for flow in spec.flows]
    ways = [way for pair in ends for way in (pair, pair[::-1])]
    return {spec.topology.bottleneck(*way) for way in ways}


def lacks_any(spec: ExperimentSpec, chosen: Iterable[str]) -> bool:
    """Return whether the link's discipline lacks one of these fields."""
    given = {name.removeprefix(PREFIX) for name in chosen} - _FIELDS
    return any(
        _own(field, discipline(each.discipline)) not in dict(each.settings)
        for each in bottlenecks(spec)
        for field in given
    )


def refuse_parameters_of_none(spec: ExperimentSpec, levels: Mapping[str, Sequence[str]]) -> None:
    """Raise UsageError for a parameter that no discipline of a sweep, by its `levels`, has."""
    named = levels.get(DISCIPLINE) or {channel.discipline for channel in bottlenecks(spec)}
    managed = [discipline(each) for each in named]
    for name in levels:
        field = name.removeprefix(PREFIX)
        if name.startswith(PREFIX) and field not in _FIELDS:
            _refuse_if_none_has(field, managed)


def _refuse_if_none_has(field: str, managed: Iterable[Discipline]) -> None:
    """Raise the error of the first discipline if none has the parameter."""
    for each in managed:
        if any(parameter.name == _own(field, each) for parameter in each.parameters):
            return
    for each in managed:
        _require_parameter(each, _own(field, each))


def _require_parameter(managed: Discipline, name: str) -> None:
    """Raise UsageError for a parameter that the discipline lacks."""
    if not managed.parameters:
        raise UsageError(
            f"{managed.name} has no parameter '{name[:40]}'.",
            "Set a discipline with parameters too, such as --set link.discipline=fq_codel.",
        )
    managed.parameter(name)
