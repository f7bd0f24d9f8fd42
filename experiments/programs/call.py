"""A function of the caller's, run in a host by the caller's Python. Data travels as JSON.

What comes back is data too: a guest's answer is never unpickled.
"""

from __future__ import annotations

import builtins
import inspect
import json
from collections.abc import Callable
from typing import Any

from experiments.programs.program import Program, ProgramFailed
from topologies.foundation.errors import UsageError

_ANSWER = "\n==tcplab answer=="
_TUPLE = "()"
RUNNER = f"""\
import asyncio, inspect, json, runpy, sys, traceback

def plain(value):
    if isinstance(value, tuple):
        return {{"{_TUPLE}": [plain(item) for item in value]}}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {{key: plain(item) for key, item in value.items()}}
    return value

asked = json.load(sys.stdin)
sys.path[:0] = asked["path"]
try:
    value = runpy.run_path(asked["file"], run_name="__tcplab__")[asked["name"]](*asked["given"])
    if inspect.isawaitable(value):
        value = asyncio.run(value)
    answer = {{"value": plain(value)}}
except BaseException as error:
    answer = {{"error": type(error).__name__, "words": str(error), "trace": traceback.format_exc()}}
print({_ANSWER!r} + json.dumps(answer))
"""


def asked(function: Callable[..., Any], given: tuple[Any, ...], path: list[str]) -> str:
    """Return the input of RUNNER. Raises UsageError for a function without a name or a file."""
    file = inspect.getsourcefile(function)
    if not file or not function.__qualname__.isidentifier():
        raise UsageError(
            f"{function.__qualname__} cannot be called in a host.",
            "Call a function of a module's top level.",
        )
    words = {"file": file, "name": function.__name__, "given": list(given), "path": path}
    try:
        return json.dumps(words)
    except TypeError as error:
        raise UsageError(f"An argument is not data: {error}.", "Pass what JSON has.") from error


def answered(program: Program) -> Any:
    """Return what the function returned; raise what it raised."""
    _printed, marker, text = program.stdout.rpartition(_ANSWER)
    if not marker:
        raise program.failed("did not return")
    answer = json.loads(text)
    if "value" in answer:
        return _value(answer["value"])
    error = _error(answer["error"], answer["words"]) or ProgramFailed(answer["trace"])
    error.add_note(f"In {program.host}:\n{answer['trace']}")
    raise error


def _error(name: str, words: str) -> Exception | None:
    kind = getattr(builtins, name, None)
    return kind(words) if isinstance(kind, type) and issubclass(kind, Exception) else None


def _value(data: Any) -> Any:
    if isinstance(data, dict):
        if list(data) == [_TUPLE]:
            return tuple(map(_value, data[_TUPLE]))
        return {key: _value(item) for key, item in data.items()}
    return list(map(_value, data)) if isinstance(data, list) else data
