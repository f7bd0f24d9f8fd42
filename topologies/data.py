"""Specs to plain data and back: for run directories, guests, and files that users write.

Quantities are text ("40ms"), dataclasses are objects, tuples are lists. Reading back is strict.
"""

import dataclasses
import hashlib
import json
import types
import typing
from collections.abc import Iterable
from typing import Any, Literal, Union, cast, get_args, get_origin

from topologies.errors import UsageError
from topologies.units import Quantity


def to_data(value: Any) -> Any:
    """JSON-able data of a spec, a quantity, or tuples and dicts of them."""
    if isinstance(value, Quantity):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_data(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, tuple | list):
        return [to_data(item) for item in value]
    if isinstance(value, dict):
        return {key: to_data(item) for key, item in value.items()}
    return value


def digest(value: Any) -> str:
    """SHA-256 of a spec: the same for equal specs, in whatever order their fields were written."""
    return hashlib.sha256(json.dumps(to_data(value), sort_keys=True).encode()).hexdigest()


def from_data(kind: Any, data: Any, where: str = "") -> Any:
    """Return the value of a type (dataclass, quantity, tuple, union ...). Raises UsageError."""
    if get_origin(kind) in (Union, types.UnionType):
        if data is None and type(None) in get_args(kind):
            return None
        return from_data(_some(kind), data, where)
    if get_origin(kind) is Literal:
        if data not in get_args(kind):
            raise _wrong(where, f"{data!r:.40} is not one of {', '.join(map(str, get_args(kind)))}")
        return data
    if get_origin(kind) is tuple:
        return _tuple(get_args(kind), data, where)
    if dataclasses.is_dataclass(kind) and not issubclass(cast(type, kind), Quantity):
        return _dataclass(cast(type, kind), data, where)
    return _leaf(kind, data, where)


def kind_at(kind: Any, path: list[str], where: str = "") -> Any:
    """Return the type of the field at a path such as links, *, rightward. Raises UsageError."""
    if get_origin(kind) in (Union, types.UnionType):
        return kind_at(_some(kind), path, where)
    if not path:
        return kind
    step, rest = path[0], path[1:]
    step_place = f"{where}.{step}".lstrip(".")
    if get_origin(kind) is tuple and (step == "*" or step.isdecimal()):
        return kind_at(get_args(kind)[0], rest, step_place)
    if dataclasses.is_dataclass(kind) and not issubclass(cast(type, kind), Quantity):
        hints = typing.get_type_hints(kind)
        if step in hints:
            return kind_at(hints[step], rest, step_place)
        raise _no_field(step_place, step, hints)
    raise _wrong(step_place, "no such place")


def replaced(data: Any, path: list[str], value: Any, where: str = "") -> Any:
    """Return `data` with `value` at `path`; * means every item. Raises UsageError."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    step_place = f"{where}.{step}".lstrip(".")
    if isinstance(data, dict) and step in data:
        return data | {step: replaced(data[step], rest, value, step_place)}
    items = enumerate(data) if isinstance(data, list) else ()
    chosen = [
        index
        for index, item in items
        if step == str(index) or (step == "*" and _leads_on(item, rest))
    ]
    if not chosen:
        raise _wrong(step_place, "no such place to set")
    return [
        replaced(item, rest, value, step_place) if index in chosen else item
        for index, item in enumerate(data)
    ]


def _leads_on(data: Any, path: list[str]) -> bool:
    """Return whether every step but the last exists."""
    if len(path) < 2:
        return True
    step = data.get(path[0]) if isinstance(data, dict) else None
    return step is not None and _leads_on(step, path[1:])


def _some(union: Any) -> Any:
    """Return the type of a union that is not None's."""
    return next(kind for kind in get_args(union) if kind is not type(None))


def _tuple(kinds: tuple[Any, ...], data: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(data, list | tuple):
        raise _wrong(where, "a list is wanted")
    inner = [kinds[0]] * len(data) if len(kinds) == 2 and kinds[1] is Ellipsis else list(kinds)
    if len(inner) != len(data):
        raise _wrong(where, f"{len(inner)} items are wanted, not {len(data)}")
    return tuple(
        from_data(kind, item, f"{where}[{index}]")
        for index, (kind, item) in enumerate(zip(inner, data, strict=True))
    )


def _dataclass(kind: type, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise _wrong(where, "an object with fields is wanted")
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    if unknown := sorted(set(data) - set(fields)):
        raise _no_field(where, unknown[0], fields)
    for name, field in fields.items():
        if name not in data and field.default is field.default_factory is dataclasses.MISSING:
            raise _wrong(where, f"the field {name} is missing")
    places = {name: f"{where}.{name}".lstrip(".") for name in data}
    return kind(**{name: from_data(hints[name], data[name], at) for name, at in places.items()})


def _leaf(kind: type, data: Any, where: str) -> Any:
    if issubclass(kind, Quantity):
        if not isinstance(data, str):
            raise _wrong(where, f"text such as {kind.example!r} is wanted")
        return kind.parse(data)
    if kind is float and type(data) is int:
        return float(data)
    if type(data) is not kind:
        raise _wrong(where, f"{data!r:.40} is not of type {kind.__name__}")
    return data


def _no_field(where: str, name: str, fields: Iterable[str]) -> UsageError:
    return _wrong(where, f"there is no field {name!r:.40}; the fields are {', '.join(fields)}")


def _wrong(where: str, problem: str) -> UsageError:
    return UsageError(f"{where or 'The spec'}: {problem}.", "Correct it and try again.")
