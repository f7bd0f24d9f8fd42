"""The reference of specs: what an experiment and a network are made of, field by field.

Bounds are those that the classes themselves name: each field is tried with nothing and with far too
much, and the sentence of the refusal is the bound.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from experiments.harness.definition.catalogue import Experiment, catalogue
from experiments.harness.documentation.table_cells import cell
from experiments.spec import (
    Condition,
    ExperimentSpec,
    Flow,
    Headline,
    Proof,
    Subject,
)
from topologies.foundation.errors import UsageError
from topologies.foundation.units import Count, Duration, Packets, Quantity, Rate, Share, Size
from topologies.topology_spec import Channel, HostReordering, Link, Node, TopologySpec

UNITS = (Rate, Duration, Share, Size, Packets, Count)
_FAR_TOO_MUCH = 10**24
_MINUTE = Duration.parse("60s")
_EXAMPLES: tuple[Any, ...] = (
    Channel(Rate.parse("10mbit"), _MINUTE),
    HostReordering("h1", "h2", Duration.parse("1ms"), Share.parse("50%")),
    Flow("flow1", "h1", "h2", _MINUTE, Size.parse("64KiB"), interval=Duration.parse("1s")),
)
"""Specs with a value in each field that has bounds of its own."""


def spec_pages() -> dict[str, str]:
    """Pages on units, on the specs of experiments and networks, and on all studies' parameters."""
    of_experiments = (ExperimentSpec, Flow, Condition, Proof, Headline, Subject)
    of_networks = (TopologySpec, Node, Link, Channel, HostReordering)
    return {
        "reference/units.md": _page("Units", _INTRODUCTIONS["units"], _units()),
        "reference/experiment-spec.md": _page(
            "What an experiment is made of", _INTRODUCTIONS["experiment"], _classes(of_experiments)
        ),
        "reference/topology-spec.md": _page(
            "What a network is made of", _INTRODUCTIONS["topology"], _classes(of_networks)
        ),
        **{
            f"reference/parameters/{named.name}.md": _page(
                f"Parameters of {named.name}", named.claim, _parameters(named)
            )
            for named in catalogue()
            if named.file.parent.parent.name == "experiments"
        },
    }


_INTRODUCTIONS = {
    "units": "Every quantity is a number with its unit, and is kept exactly. A spelling that tools"
    " read differently is refused with the choices.",
    "experiment": "`--dry-run` prints an experiment as this data, and `spec.json` of a run holds"
    " it. `--set` takes the path of a field, such as `flows.0.window`.",
    "topology": "`--set topology.links.1.rightward.queue=50` sets a field of one channel.",
}


def _page(title: str, introduction: str, lines: Iterable[str]) -> str:
    return "\n".join([f"# {title}", "", introduction, "", *lines]) + "\n"


def _units() -> Iterator[str]:
    for kind in UNITS:
        yield from (f"## {kind.__name__}", "", f"A {kind.kind}, such as `{kind.example}`.", "")
        spellings = ", ".join(f"`{unit}`" for unit in kind.units)
        yield from (f"Units: {spellings}.", "")
        if kind.default_unit:
            yield from (f"A number without a unit is in `{kind.default_unit}`.", "")
        if kind.doubtful:
            refused = ", ".join(f"`{unit}`" for unit in kind.doubtful if unit)
            yield from (f"Refused as ambiguous: {refused}.", "")


def _classes(classes: Iterable[type]) -> Iterator[str]:
    for kind in classes:
        yield from (f"## {kind.__name__}", "", inspect.cleandoc(kind.__doc__ or ""), "")
        yield from ("| field | type | default | bounds |", "| --- | --- | --- | --- |")
        example: Any = next((each for each in _EXAMPLES if isinstance(each, kind)), None)
        for field in dataclasses.fields(kind):
            bounds = _bounds(partial(dataclasses.replace, example), example, field)
            yield f"| `{field.name}` | {_type(field)} | {_default(field)} | {bounds} |"
        yield ""


def _parameters(named: Experiment) -> Iterator[str]:
    kind = named.parameters()
    typical = kind()
    hints = typing.get_type_hints(kind)

    def tried(**new: Any) -> ExperimentSpec:
        return named.spec(dataclasses.replace(typical, **new))

    yield from ("| parameter | type | default | meaning | bounds |", "| --- " * 5 + "|")
    for field in dataclasses.fields(kind):
        name, meaning = field.name.replace("_", "-"), field.metadata.get("meaning", "")
        bounds = _bounds(tried, typical, field)
        yield (
            f"| `--{name}` | {hints[field.name].__name__} | `{field.default}` |"
            f" {cell(meaning)} | {bounds} |"
        )
    yield from ("", f"[The command](../commands/run/{named.name}.md) has the options of every run.")


def _bounds(make: Callable[..., object], example: Any, field: dataclasses.Field[Any]) -> str:
    """What the refusals of nothing and of far too much say; empty if neither is refused."""
    value = getattr(example, field.name, None)
    if not isinstance(value, Quantity):
        return ""
    remedies = []
    for amount in (0, _FAR_TOO_MUCH):
        try:
            make(**{field.name: type(value)(amount)})
        except UsageError as error:
            remedies.append(error.remedy)
    return cell(" ".join(dict.fromkeys(remedies)))


def _type(field: dataclasses.Field[Any]) -> str:
    return f"<code>{cell(str(field.type))}</code>"


def _default(field: dataclasses.Field[Any]) -> str:
    if field.default is dataclasses.MISSING:
        return "must be given"
    value = field.default
    return f"`{value}`" if str(value) else "empty"
