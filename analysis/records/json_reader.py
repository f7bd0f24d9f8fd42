"""A stranger's JSON as typed records: what is absent or broken becomes a problem, not a traceback.

A field that does not fit the schema (a `msgspec.Struct`) has its default, and an entry of a list
that does not fit is passed over.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from math import isfinite
from pathlib import Path
from types import NoneType
from typing import Any, Literal, NewType, TypeVar, get_args, get_origin

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import fields

from topologies import untrusted
from topologies.errors import TcplabError, UsageError
from topologies.notation import json_value

Record = TypeVar("Record", bound=Struct)
_Reader = Callable[[object], Any]  # gives a value of its type, or UNSET if what it is given is none

LogPath = NewType("LogPath", str)
"""A log's path on a page: inside the folder, without characters that a browser interprets."""
NO_LOG = LogPath("")
Microseconds = NewType("Microseconds", float)  # seconds that a file has as microseconds
_LOG = re.compile(r"failures/[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")

NEWEST_FORMAT = 1  # the newest format of manifest.json and its like that this analysis understands
_GREATEST = 1e300
"""Limit above all measurements; JSON has no limit, and Python accepts Infinity too."""


def printable(text: object) -> str:
    """`text` without control characters: a file must not be able to steer the reader's terminal."""
    words, mark = str(text), "\N{REPLACEMENT CHARACTER}"
    if words.isprintable():
        return words
    return "".join(each if each.isprintable() or each == "\n" else mark for each in words)


@dataclass
class Problems:
    """Sentences for the reader, in the order of discovery and without repetition."""

    found: list[str] = field(default_factory=list)

    def add(self, sentence: str) -> None:
        cleaned = printable(sentence)
        if cleaned not in self.found:
            self.found.append(cleaned)

    def left_out(self, why: str) -> None:
        """Note that a file has no values, such as "qdiscs.json is missing"."""
        self.add(f"{why}: what it would have told is left out.")


class UnreadableJson(Exception):
    """A file without a JSON object; the text follows the file's name in a sentence."""


def parse(kind: type[Record], path: Path, most: int = untrusted.MOST) -> tuple[Record, str]:
    """Return a file's record and "", or one of defaults and why the file cannot be used."""
    try:
        return typed(kind, read_object(path, most)), ""
    except UnreadableJson as error:
        return kind(), str(error)


def read(
    kind: type[Record], path: Path, problems: Problems, name: str, most: int = untrusted.MOST
) -> Record:
    """Return the record of a file, after noting under `name` why it cannot be used."""
    record, complaint = parse(kind, path, most)
    if complaint:
        problems.left_out(f"{name} {complaint}")
    return record


def read_object(path: Path, most: int = untrusted.MOST) -> dict[str, Any]:
    """The JSON object in a file of at most `most` bytes. Raises UnreadableJson."""
    try:
        content = json_value(untrusted.text(path.parent, path.name, most))
    except FileNotFoundError:
        raise UnreadableJson("is missing") from None
    except (OSError, untrusted.StrangeFile) as error:
        raise UnreadableJson(f"cannot be read ({why_not(error)})") from None
    except ValueError as error:
        raise UnreadableJson(f"is no valid JSON, perhaps cut short ({error})") from None
    if not isinstance(content, dict):
        raise UnreadableJson("holds no JSON object")
    return content


def why_not(error: OSError | untrusted.StrangeFile) -> str:
    return str(error.strerror) if isinstance(error, OSError) else error.reason


def read_main(kind: type[Record], path: Path, name: str, command: str) -> Record:
    """Read `name`, which makes a folder what `command` printed. Raises UsageError, TcplabError."""
    remedy = f"Name the folder that {command} printed."
    if not path.is_dir():
        raise UsageError(f"There is no folder '{path}'.", remedy)
    if not (path / name).exists():
        raise UsageError(f"'{path}' has no {name}.", remedy)
    try:
        content = read_object(path / name)
        if not content:
            raise UnreadableJson("is empty")
    except UnreadableJson as error:
        again = f"Run {command} again: finished points are taken from the store."
        raise TcplabError(printable(f"{name} {error}."), again) from None
    require_known_format(number(content.get("format")))
    return typed(kind, content)


def require_known_format(written: float | None) -> None:
    """Raise TcplabError for a format of a later tcplab."""
    if written is not None and written > NEWEST_FORMAT:
        raise TcplabError(
            f"The folder was written in format {written:g}; this tcplab reads formats up to"
            f" {NEWEST_FORMAT}.",
            "Update tcplab (git pull) and try again.",
        )


def typed(kind: type[Record], content: object) -> Record:
    """Return `content` as a record; with defaults only if it is no object."""
    record = _struct(kind, content)
    return kind() if isinstance(record, UnsetType) else record


def text(value: object) -> str | None:
    """A text without control characters; a finite number is written out, anything else is None."""
    if isinstance(value, float) and not isfinite(value):
        return None
    return printable(value) if isinstance(value, str | int | float) else None


def number(value: object) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_GREATEST < value < _GREATEST else None


@cache
def _reader(kind: Any) -> _Reader:
    origin, arguments = get_origin(kind), get_args(kind)
    if isinstance(kind, type) and issubclass(kind, Struct):
        return partial(_struct, kind)
    if origin is tuple and arguments[-1] is Ellipsis:
        return printables if arguments[0] is str else partial(_entries, _reader(arguments[0]))
    if origin is tuple:
        return partial(_texts_of, len(arguments))
    if origin is Literal:
        return lambda value: value if value in arguments else UNSET
    if origin is dict:
        return partial(_values, _reader(arguments[1]))
    if NoneType in arguments:
        return _reader(next(argument for argument in arguments if argument is not NoneType))
    return _OF_VALUES[kind]


@cache
def _fields(kind: type[Struct]) -> tuple[tuple[str, str, _Reader], ...]:
    return tuple((each.name, each.encode_name, _reader(each.type)) for each in fields(kind))


def _struct(kind: type[Record], content: object) -> Record | UnsetType:
    if not isinstance(content, dict):
        return UNSET
    written = ((name, reader(content[of])) for name, of, reader in _fields(kind) if of in content)
    return kind(**{name: value for name, value in written if value is not UNSET})


def _entries(reader: _Reader, content: object) -> tuple[Any, ...] | UnsetType:
    if not isinstance(content, list):
        return UNSET
    return tuple(value for entry in content if (value := reader(entry)) is not UNSET)


def printables(content: object) -> tuple[str, ...] | UnsetType:
    return tuple(map(printable, content)) if isinstance(content, list) else UNSET


def _texts_of(length: int, content: object) -> tuple[str, ...] | UnsetType:
    texts = printables(content)
    return texts if texts is not UNSET and len(texts) == length else UNSET


def _values(reader: _Reader, content: object) -> dict[str, Any] | UnsetType:
    if not isinstance(content, dict):
        return UNSET
    values = {name: reader(value) for name, value in content.items()}
    return {name: value for name, value in values.items() if value is not UNSET}


def _number_or_unset(value: object) -> float | UnsetType:
    """As `number`, in one call: samples of sockets are little else."""
    if type(value) is float or type(value) is int:
        return float(value) if -_GREATEST < value < _GREATEST else UNSET
    return UNSET


_OF_VALUES: dict[Any, _Reader] = {
    str: lambda value: UNSET if (written := text(value)) is None else written,
    LogPath: lambda value: value if _LOG.fullmatch(text(value) or "") else UNSET,
    float: _number_or_unset,
    Microseconds: lambda value: UNSET if (us := _number_or_unset(value)) is UNSET else us / 1e6,
    int: lambda value: value if type(value) is int else UNSET,
    bool: lambda value: value if isinstance(value, bool) else UNSET,
    Any: lambda value: value,
}
