"""Fields of an experiment's parameters as command-line options, each checked when it is typed."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from typing import Any

import click

from topologies.foundation.errors import UsageError
from topologies.foundation.units import Quantity


class QuantityType(click.ParamType[Quantity]):
    """A quantity as a command-line value."""

    def __init__(self, kind: type[Quantity]) -> None:
        self.kind = kind
        self.name = kind.example

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Quantity:
        if isinstance(value, Quantity):
            return value
        try:
            return self.kind.parse(str(value))
        except UsageError as error:
            self.fail(str(error), param, ctx)


def parameter_options(parameters: type) -> list[click.Parameter]:
    """An option for each field: its name, unit, meaning and default."""
    hints = typing.get_type_hints(parameters)
    return [_option(field, hints[field.name]) for field in dataclasses.fields(parameters)]


def _option(field: dataclasses.Field[Any], kind: type) -> click.Option:
    text = f"{field.metadata.get('meaning', '')}  [default: {field.default}]"
    flag = f"--{field.name.replace('_', '-')}"
    if issubclass(kind, Quantity):
        return click.Option(
            [flag], type=QuantityType(kind), default=field.default, metavar=kind.example, help=text
        )
    offered = _completed(field.metadata.get("parts", ()))
    return click.Option(
        [flag], default=field.default, metavar="WORD", help=text, shell_complete=offered
    )


def _completed(
    parts: tuple[str, ...],
) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Offers the parts of a list such as cubic+reno, of which the last is being typed."""

    def offered(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
        before, plus, last = typed.rpartition("+")
        return [f"{before}{plus}{part}" for part in parts if part.startswith(last)]

    return offered
