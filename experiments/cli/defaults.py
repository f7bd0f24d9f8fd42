"""A user's own defaults of options, from ~/.config/tcplab/defaults.toml (docs/start/installing.md).

A table is a command: what is in [run] holds for every experiment, what is in [run.sack] for one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click


def defaults_file() -> Path:
    """Return the path of the file by the XDG Base Directory Specification; it need not exist.

    A user unknown to the system has no home and no file.
    """
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(settings, "tcplab/defaults.toml")


def use_defaults(context: click.Context) -> None:
    """Set the defaults of the typed command of a group from the file.

    Fails with a sentence if the file cannot be read or names an option that the command lacks.
    """
    name = context.invoked_subcommand
    if name is None or context.resilient_parsing:
        return
    outer = context.default_map if context.parent else _content(context)
    if not outer:
        return  # without defaults the command need not be made twice
    command = context.command.get_command(context, name)  # type: ignore[attr-defined]
    context.default_map = {name: _of(command, name, outer, context)}


def _of(
    command: click.Command, name: str, outer: Mapping[str, Any], context: click.Context
) -> dict[str, Any]:
    """Return the defaults of a command from its table and the table around it."""
    common = {key: value for key, value in outer.items() if not isinstance(value, dict)}
    own: dict[str, Any] = outer.get(name, {})
    if isinstance(command, click.Group):
        inner = {
            sub: _of(part, sub, common | own, context) for sub, part in command.commands.items()
        }
        return common | own | inner
    names = _by_option(command)
    _require_known(context, own, names, name)
    return {names[key]: value for key, value in (common | own).items() if key in names}


def _by_option(command: click.Command) -> dict[str, str]:
    """Map each option as it is typed, and each name in Python, to the name in Python."""
    typed = {
        word.lstrip("-").replace("-", "_"): param.name
        for param in command.params
        for word in param.opts
        if param.name
    }
    return typed | {name: name for name in typed.values()}


def _content(context: click.Context) -> dict[str, Any]:
    file = defaults_file()
    if not file.is_file():
        return {}
    import tomllib  # here: few have the file

    try:
        content = tomllib.loads(file.read_text())
    except (OSError, ValueError) as error:
        context.fail(f"{file} cannot be read: {error}. Fix or remove it.")
    for key in (key for key, value in content.items() if not isinstance(value, dict)):
        context.fail(f"{file} has '{key}' outside of a table: put it below [run], for example.")
    return _without_tildes(content)


def _without_tildes(table: dict[str, Any]) -> dict[str, Any]:
    """Expand ~ in values as a shell does, and replace `-` in names by `_`."""
    return {
        key.replace("-", "_"): _without_tildes(value)
        if isinstance(value, dict)
        else os.path.expanduser(value)
        if isinstance(value, str)
        else value
        for key, value in table.items()
    }


def _require_known(
    context: click.Context, own: Mapping[str, Any], known: Collection[str], name: str
) -> None:
    for key in sorted(set(own) - set(known)):
        near = get_close_matches(key, known, 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        context.fail(f"{defaults_file()} has '{key}' for {name}, which has no such option.{hint}")
