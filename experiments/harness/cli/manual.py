"""`tcplab man`: the manual page, made of the texts that --help prints (man-pages(7))."""

from __future__ import annotations

from collections.abc import Iterator

import click

import testbed
from experiments.harness.cli.commands import tcplab


@click.command()
def man() -> None:
    """Print the manual page: ./tcplab man | man -l -"""
    click.echo("\n".join(_page()))


def _page() -> Iterator[str]:
    yield f'.TH TCPLAB 1 "" "tcplab {testbed.VERSION}" "User Commands"'
    yield from (".SH NAME", "tcplab \\- experiments with TCP on emulated networks")
    yield from (".SH SYNOPSIS", ".B tcplab", "[\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGS\\fR]")
    context = click.Context(tcplab, info_name="tcplab", **tcplab.context_settings)
    yield from (".SH OPTIONS", *_options(context))
    yield ".SH COMMANDS"
    yield from _commands(context)


def _commands(context: click.Context) -> Iterator[str]:
    """Every command below a group, with its arguments, text and options."""
    group = context.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        usage = " ".join(command.collect_usage_pieces(inner))
        yield f'.SS "{_plain(inner.command_path)} {_plain(usage)}"'
        yield _plain(" ".join((command.help or "").split()))
        yield from _options(inner)
        if isinstance(command, click.Group):
            yield from _commands(inner)


def _options(context: click.Context) -> Iterator[str]:
    for param in context.command.get_params(context):
        if record := param.get_help_record(context):
            yield from (".TP", f"\\fB{_plain(record[0])}\\fR", _plain(record[1]))


def _plain(text: str) -> str:
    """The text as roff prints it: a dash is a minus, and no line begins a request."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace('"', "\\(dq")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
