"""The reference of commands: a page each, made of the texts that --help prints."""

from __future__ import annotations

from collections.abc import Iterator

import click

from experiments.harness.documentation.table_cells import cell

FOLDER = "reference/commands"


def command_pages(root: click.Group, typed: str) -> dict[str, str]:
    """A page for every command below `root`, by name; `typed` is what people begin with."""
    context = click.Context(root, info_name=typed, **root.context_settings)
    pages = {f"{FOLDER}/index.md": _list(context)}
    for name in root.list_commands(context):
        pages |= _pages(f"{FOLDER}/{name}", _below(context, name))
    return pages


def _list(context: click.Context) -> str:
    lines = ["# All commands", "", f"`{context.command_path} --help` prints this list.", ""]
    lines += _table(context)
    return "\n".join([*lines, "", "## Options before a command", "", *_options(context)]) + "\n"


def _table(context: click.Context) -> Iterator[str]:
    """The commands of a group, each with the line about it and a link to its page."""
    group = context.command
    assert isinstance(group, click.Group)
    yield from ("| command | what it does |", "| --- | --- |")
    for name in group.list_commands(context):
        command = _below(context, name).command
        link = f"{name}/index.md" if isinstance(command, click.Group) else f"{name}.md"
        yield f"| [`{name}`]({link}) | {cell(command.get_short_help_str(200))} |"


def _below(context: click.Context, name: str) -> click.Context:
    group = context.command
    assert isinstance(group, click.Group)
    command = group.get_command(context, name)
    assert command is not None
    return click.Context(command, info_name=name, parent=context)


def _pages(place: str, context: click.Context) -> dict[str, str]:
    """The page of a command; of a group, a folder of its commands as well."""
    group = context.command
    if not isinstance(group, click.Group):
        return {f"{place}.md": "\n".join(_page(context)) + "\n"}
    lines, below = [*_page(context), ""], dict[str, str]()
    lines += _table(context)
    for name in group.list_commands(context):
        below |= _pages(f"{place}/{name}", _below(context, name))
    return {f"{place}/index.md": "\n".join(lines) + "\n", **below}


def _page(context: click.Context) -> Iterator[str]:
    usage = " ".join(context.command.collect_usage_pieces(context))
    yield from (f"# {context.command_path.partition(' ')[2]}", "")
    yield from ("```text", f"{context.command_path} {usage}", "```", "")
    for paragraph in (context.command.help or "").split("\n\n"):
        yield from (" ".join(paragraph.replace("\b", "").split()), "")
    yield from _options(context)


def _options(context: click.Context) -> Iterator[str]:
    records = [param.get_help_record(context) for param in context.command.get_params(context)]
    yield from ("| option | meaning |", "| --- | --- |")
    for record in filter(None, records):
        yield f"| <code>{cell(record[0])}</code> | {cell(record[1])} |"
