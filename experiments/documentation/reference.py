"""The generated reference. Bounds are the remedies that classes give for 0 and a huge value."""

import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import click
from jinja2 import Environment, PackageLoader, StrictUndefined

import testbed
from analysis.flows.columns import INTERVALS, KINDS, OURS, PACKETS, TCPTRACE
from analysis.measures.evidence import EVENTS
from analysis.measures.metrics import columns, measures, terms
from analysis.rendering import with_code
from experiments.flows.traffic import TRAFFIC
from experiments.spec import Condition, ExperimentSpec, Flow, Headline, Proof, Subject
from experiments.study.catalogue import Experiment, catalogue
from experiments.surprises import surprises
from topologies.disciplines import disciplines
from topologies.errors import UsageError
from topologies.spec import Channel, HostReordering, Link, Node, TopologySpec
from topologies.units import Count, Duration, Frequency, Packets, Quantity, Rate, Share, Size

_HUGE = 10**24
_MINUTE = Duration.parse("60s")
_EXAMPLES: tuple[Any, ...] = (
    Channel(Rate.parse("10mbit"), _MINUTE),
    HostReordering("h1", "h2", Duration.parse("1ms"), Share.parse("50%")),
    Flow("flow1", "h1", "h2", _MINUTE, Size.parse("64KiB"), interval=Duration.parse("1s")),
)
"""Specs with a value in each field that has bounds."""
_SINGLE = (
    *("units", "experiment-spec", "topology-spec", "disciplines", "surprises", "columns/sweep"),
    *("columns/measures", "columns/events", "columns/connections", "columns/tcptrace"),
    "columns/packets",
)
"""Templates of one page each."""


def reference(root: click.Group, program: str) -> dict[str, str]:
    facts = {
        "units": (Rate, Duration, Share, Size, Packets, Count, Frequency),
        "experiment": (ExperimentSpec, Flow, Condition, Proof, Headline, Subject),
        "network": (TopologySpec, Node, Link, Channel, HostReordering),
        "disciplines": disciplines().values(),
        "traffic": TRAFFIC.values(),
        "metrics": columns().values(),
        "measures": measures(),
        "terms": terms().values(),
        "events": EVENTS,
        "ours": OURS,
        "tcptrace": TCPTRACE,
        "packets": PACKETS,
        "intervals": INTERVALS,
        "kinds": KINDS,
        "surprises": surprises().values(),
    }
    context = click.Context(root, info_name=program, **root.context_settings)
    studies = [named for named in catalogue() if named.file.parent.parent.name == "experiments"]
    pages = {
        "commands/index.md": rendered("commands.md.j2", context=context),
        **_commands(context, "commands/"),
        **{f"{name}.md": rendered(f"{name}.md.j2", **facts) for name in _SINGLE},
        **{f"parameters/{named.name}.md": _study(named) for named in studies},
    }
    return {f"reference/{name}": text for name, text in pages.items()}


def manual(root: click.Group) -> str:
    """Return the manual page of all commands (man-pages(7))."""
    context = click.Context(root, info_name="tcplab", **root.context_settings)
    return rendered("man.j2", context=context, version=testbed.VERSION)


def rendered(template: str, **context: Any) -> str:
    return _environment().get_template(template).render(context)


@cache
def _environment() -> Environment:
    loader = PackageLoader(__package__)
    environment = Environment(
        loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.tests["missing"] = lambda default: default is dataclasses.MISSING
    environment.filters |= {
        "cell": cell,
        "documentation": inspect.cleandoc,
        "fields": _fields,
        "below": _below,
        "options": _options,
        "page": _page_of,
        "roff": _roff,
    }
    return environment


def cell(text: str) -> str:
    """Return the text on one line, without meaning for Markdown except that of `code`."""
    plain = with_code(" ".join(text.split()))
    return re.sub(r"[|*\[\]_]", lambda sign: f"&#{ord(sign[0])};", plain)


def _roff(text: str) -> str:
    """Return the text as roff prints it: a dash is a minus, and no line begins a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped


def _commands(context: click.Context, folder: str) -> dict[str, str]:
    pages = {}
    for below in _below(context):
        pages[f"{folder}{_page_of(below)}"] = rendered("command.md.j2", context=below)
        pages |= _commands(below, f"{folder}{below.info_name}/")
    return pages


def _below(context: click.Context) -> list[click.Context]:
    group = context.command
    names = group.list_commands(context) if isinstance(group, click.Group) else ()
    commands = ((name, group.get_command(context, name)) for name in names)  # type: ignore[attr-defined]
    return [click.Context(command, info_name=name, parent=context) for name, command in commands]


def _page_of(context: click.Context) -> str:
    is_group = isinstance(context.command, click.Group)
    return f"{context.info_name}/index.md" if is_group else f"{context.info_name}.md"


def _options(context: click.Context) -> list[tuple[str, str]]:
    records = (each.get_help_record(context) for each in context.command.get_params(context))
    return [record for record in records if record]


def _study(named: Experiment) -> str:
    kind = named.parameters()
    typical, hints = kind(), typing.get_type_hints(kind)
    parameters = [
        (field, hints[field.name], _bounds(named.spec, typical, field))
        for field in dataclasses.fields(kind)
    ]
    return rendered("parameters.md.j2", named=named, parameters=parameters)


def _fields(kind: Any) -> Iterator[tuple[dataclasses.Field[Any], str]]:
    example = next((each for each in _EXAMPLES if isinstance(each, kind)), None)
    for field in dataclasses.fields(kind):
        yield field, _bounds(lambda made: made, example, field)


def _bounds(make: Callable[[Any], object], example: Any, field: dataclasses.Field[Any]) -> str:
    """Return the remedies for 0 and for a huge value; empty if both are accepted."""
    value = getattr(example, field.name, None)
    if not isinstance(value, Quantity):
        return ""
    remedies = []
    for amount in (0, _HUGE):
        try:
            make(dataclasses.replace(example, **{field.name: type(value)(amount)}))
        except UsageError as error:
            remedies.append(error.remedy)
    return " ".join(dict.fromkeys(remedies))
