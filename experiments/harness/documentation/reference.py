"""The generated reference: commands, units, specs, parameters, disciplines and Python's names.

Bounds are those that the classes state: each field is tried with 0 and with a huge value, and the
remedy of the error is the bound.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import click

from experiments.harness.definition.catalogue import Experiment, catalogue
from experiments.harness.documentation.column_pages import cell
from experiments.spec import Condition, ExperimentSpec, Flow, Headline, Proof, Subject
from topologies.disciplines import disciplines
from topologies.foundation.errors import UsageError
from topologies.foundation.units import Count, Duration, Packets, Quantity, Rate, Share, Size
from topologies.topology_spec import Channel, HostReordering, Link, Node, TopologySpec

UNITS = (Rate, Duration, Share, Size, Packets, Count)
_HUGE = 10**24
_MINUTE = Duration.parse("60s")
_EXAMPLES: tuple[Any, ...] = (
    Channel(Rate.parse("10mbit"), _MINUTE),
    HostReordering("h1", "h2", Duration.parse("1ms"), Share.parse("50%")),
    Flow("flow1", "h1", "h2", _MINUTE, Size.parse("64KiB"), interval=Duration.parse("1s")),
)
"""Specs with a value in each field that has bounds."""


def _page(title: str, introduction: str, lines: Iterable[str]) -> str:
    return "\n".join([f"# {title}", "", introduction, "", *lines]) + "\n"


def command_pages(root: click.Group, typed: str) -> dict[str, str]:
    """Return a page for each command below `root`, from the texts of --help."""
    context = click.Context(root, info_name=typed, **root.context_settings)
    introduction = f"`{typed} --help` prints this list."
    lines = [*_table(context), "", "## Options before a command", "", *_options(context)]
    pages = {"reference/commands/index.md": _page("All commands", introduction, lines)}
    for below in _below(context):
        pages |= _command(f"reference/commands/{below.info_name}", below)
    return pages


def _below(context: click.Context) -> Iterator[click.Context]:
    """Yield a context for each command of a group."""
    if isinstance(group := context.command, click.Group):
        for name in group.list_commands(context):
            if command := group.get_command(context, name):
                yield click.Context(command, info_name=name, parent=context)


def _table(context: click.Context) -> Iterator[str]:
    yield from ("| command | purpose |", "| --- | --- |")
    for below in _below(context):
        name = below.info_name
        link = f"{name}/index.md" if isinstance(below.command, click.Group) else f"{name}.md"
        yield f"| [`{name}`]({link}) | {cell(below.command.get_short_help_str(200))} |"


def _options(context: click.Context) -> Iterator[str]:
    yield from ("| option | meaning |", "| --- | --- |")
    for parameter in context.command.get_params(context):
        if record := parameter.get_help_record(context):
            yield f"| <code>{cell(record[0])}</code> | {cell(record[1])} |"


def _command(place: str, context: click.Context) -> dict[str, str]:
    path, command = context.command_path, context.command
    lines = []
    for paragraph in (command.help or "").split("\n\n"):
        lines += [" ".join(paragraph.replace("\b", "").split()), ""]
    lines += _options(context)
    usage = f"```text\n{path} {' '.join(command.collect_usage_pieces(context))}\n```"
    if not isinstance(command, click.Group):
        return {f"{place}.md": _page(path.partition(" ")[2], usage, lines)}
    lines += ["", *_table(context)]
    pages = {f"{place}/index.md": _page(path.partition(" ")[2], usage, lines)}
    for below in _below(context):
        pages |= _command(f"{place}/{below.info_name}", below)
    return pages


def spec_pages() -> dict[str, str]:
    """Return pages of units, specs, queueing disciplines and all studies' parameters."""
    pages = {
        "units": _page(
            "Units",
            "Each quantity is a number with its unit, and is stored exactly. Ambiguous spellings"
            " are errors that name the choices.",
            _units(),
        ),
        "experiment-spec": _page(
            "Fields of an experiment",
            "`--dry-run` prints an experiment as this data, and `spec.json` of a run holds it."
            " `--set` takes the path of a field, such as `flows.0.window`.",
            _classes((ExperimentSpec, Flow, Condition, Proof, Headline, Subject)),
        ),
        "topology-spec": _page(
            "Fields of a network",
            "`--set topology.links.1.rightward.queue=50` sets a field of one channel.",
            _classes((TopologySpec, Node, Link, Channel, HostReordering)),
        ),
        "disciplines": _page(
            "Queueing disciplines",
            "`queueing` of a [channel](topology-spec.md#channel) is one of these. Settings are for"
            " a queue of 100 packets of 1514 bytes at 10 Mbit/s; all others are tc's defaults.",
            _disciplines(),
        ),
    }
    for named in catalogue():
        if named.file.parent.parent.name == "experiments":
            title = f"Parameters of {named.name}"
            pages[f"parameters/{named.name}"] = _page(title, named.claim, _parameters(named))
    return {f"reference/{name}.md": text for name, text in pages.items()}


def _units() -> Iterator[str]:
    for kind in UNITS:
        yield from (f"## {kind.__name__}", "", f"A {kind.kind}, such as `{kind.example}`.", "")
        yield from (f"Units: {', '.join(f'`{unit}`' for unit in kind.units)}.", "")
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
            default = "required" if field.default is dataclasses.MISSING else field.default
            shown = f"`{default}`" if str(default) else "empty"
            shape = f"<code>{cell(str(field.type))}</code>"
            yield f"| `{field.name}` | {shape} | {shown} | {bounds} |"
        yield ""


def _disciplines() -> Iterator[str]:
    yield from ("| name | discipline | settings | since Linux |", "| --- " * 4 + "|")
    for each in disciplines().values():
        words = each.words(100, 1514, 10_000_000)
        yield f"| `{each.name}` | {cell(each.title)} | `{each.kind} {words}` | {each.since} |"


def _parameters(named: Experiment) -> Iterator[str]:
    kind = named.parameters()
    typical = kind()
    hints = typing.get_type_hints(kind)

    def tried(**new: Any) -> ExperimentSpec:
        return named.spec(dataclasses.replace(typical, **new))

    yield from ("| parameter | type | default | meaning | bounds |", "| --- " * 5 + "|")
    for field in dataclasses.fields(kind):
        name, meaning = field.name.replace("_", "-"), cell(field.metadata.get("meaning", ""))
        shape = hints[field.name].__name__
        bounds = _bounds(tried, typical, field)
        yield f"| `--{name}` | {shape} | `{field.default}` | {meaning} | {bounds} |"
    yield from ("", f"[The command](../commands/run/{named.name}.md) has the options of all runs.")


def _bounds(make: Callable[..., object], example: Any, field: dataclasses.Field[Any]) -> str:
    """Return the remedies for 0 and for a huge value; empty if both are accepted."""
    value = getattr(example, field.name, None)
    if not isinstance(value, Quantity):
        return ""
    remedies = []
    for amount in (0, _HUGE):
        try:
            make(**{field.name: type(value)(amount)})
        except UsageError as error:
            remedies.append(error.remedy)
    return cell(" ".join(dict.fromkeys(remedies)))


_PYTHON = {
    "running": ("Running, sweeping, reading", ("run", "report", "sweep", "read")),
    "results": ("Results", ("RunReport", "RunResults", "SweepResult", "Reading")),
    "labs": ("Labs", ("lab",)),
}
"""Pages of Python's reference; all other names are on two more."""


def python_pages(places: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Return pages for mkdocstrings; `places` has the module and name of each name in `tcplab`."""
    rest = [name for name in places if not any(name in names for _, names in _PYTHON.values())]
    networks = tuple(name for name in rest if places[name][0].startswith("topologies"))
    groups = {
        **_PYTHON,
        "experiments": ("Experiments", tuple(name for name in rest if name not in networks)),
        "networks": ("Networks, units, errors", networks),
    }
    options = "\n    options:\n      show_root_heading: false\n      heading_level: 3\n"
    return {
        f"reference/python/{file}.md": _page(
            title,
            "All are names of `tcplab`: `import tcplab`.",
            [f"## tcplab.{name}\n\n::: {'.'.join(places[name])}{options}" for name in names],
        )
        for file, (title, names) in groups.items()
    }
