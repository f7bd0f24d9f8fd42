"""A single run of an experiment: its parameters, and what `NAME=VALUE` sets beside them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from experiments.harness.definition.catalogue import Experiment
from experiments.harness.definition.grid import (
    Combination,
    field_name,
    kind_of,
    value_of,
    with_field,
)
from experiments.harness.definition.kernel_needs import refuse_what_is_lacking
from topologies.foundation.errors import UsageError


def settings_from(texts: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Names and their values from `delay=10ms,50ms` and the like. Raises UsageError."""
    settings: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(
                f"'{text[:60]}' sets nothing.",
                "Write --set NAME=VALUE,VALUE: --set delay=10ms,50ms.",
            )
        if name.strip() in settings:
            raise UsageError(f"{name.strip()} is set twice.", "Put all its values into one --set.")
        settings[name.strip()] = tuple(values.split(","))
    return tuple(settings.items())


def single(named: Experiment, texts: Iterable[str], parameters: Any = None) -> Combination:
    """The run with these parameters, or the experiment's own, and with `NAME=VALUE` set in them.

    Each text is parsed once. Raises UsageError.
    """
    settings = settings_from(texts)
    if several := next((name for name, values in settings if len(values) > 1), None):
        raise UsageError(
            f"{several} has several values.", "A run takes one; ./tcplab sweep takes many."
        )
    values = {name: value_of(name, kind_of(named, name), text) for name, (text,) in settings}
    own = {field: value for name, value in values.items() if (field := field_name(named, name))}
    parameters = dataclasses.replace(parameters or named.parameters()(), **own)
    spec = named.spec(parameters)
    for name, value in values.items():
        if not field_name(named, name):
            spec = with_field(spec, name, str(value))
    refuse_what_is_lacking(spec)
    written = tuple((name, str(value)) for name, value in values.items())
    return Combination(written, parameters, spec)
