"""A program or a function of the caller's in a host. Data travels as JSON, never pickled."""

from __future__ import annotations

import builtins
import errno
import inspect
import json
import os
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from experiments.programs.folders import VisibleFolders
from topologies.errors import UsageError
from topologies.notation import json_value
from topologies.spec import TopologySpec
from topologies.units import Duration

_NOT_FOUND = 127  # as a shell says it
_TAIL = 800  # characters of output in a message
_WAITS = "1min"
SECOND = 10**9
_AT_ONCE = 10 * SECOND  # of a wait, so that the patience with an order is for that long


class ProgramFailed(AssertionError):
    """A program that failed, or did not do in time what was waited for."""


class Ordered(Protocol):
    """A network that takes orders, and its time in ns."""

    now_ns: int
    topology: TopologySpec
    folders: VisibleFolders | None

    def order(self, do: str, **arguments: Any) -> Any: ...


def nanoseconds(time: str | float) -> int:
    """Return a time given as text with a unit or as seconds. Raises UsageError."""
    return Duration.parse(time).base if isinstance(time, str) else round(time * SECOND)


@dataclass
class Program:
    """A program that was started. What it printed is as of the last order.

    `status` is its exit status as a shell says it, and `ended` the seconds at which it ended; both
    are None while it runs.
    """

    network: Ordered
    number: int
    host: str
    argv: tuple[str, ...]
    status: int | None = None
    ended: float | None = None
    printed: dict[str, bytearray] = field(
        default_factory=lambda: {"stdout": bytearray(), "stderr": bytearray()}
    )
    _shown: dict[str, int] = field(default_factory=lambda: {"stdout": 0, "stderr": 0})

    @property
    def stdout(self) -> str:
        return self.printed["stdout"].decode(errors="replace")

    @property
    def stderr(self) -> str:
        return self.printed["stderr"].decode(errors="replace")

    @property
    def state(self) -> str:
        """Its end in words, or that it runs."""
        return "runs" if self.status is None else f"status {self.status} at {self.ended} s"

    def unseen(self) -> Iterator[tuple[str, str]]:
        """Yield stdout and stderr by name, each with the text since the last call."""
        for name, begin in self._shown.items():
            text = getattr(self, name)
            self._shown[name] = len(text)
            yield name, text[begin:]

    def wait(
        self, timeout: str | float = _WAITS, meanwhile: Callable[[], None] = lambda: None
    ) -> Program:
        """Wait for its end; call `meanwhile` now and then.

        Raises ProgramFailed if it still runs after so much virtual time.
        """
        deadline = self.network.now_ns + nanoseconds(timeout)
        while self.status is None and (left := deadline - self.network.now_ns) > 0:
            self.network.order("wait", program=self.number, timeout=min(left, _AT_ONCE))
            meanwhile()
        if self.status is None:
            raise self.failed(f"still runs after {timeout} of virtual time")
        return self

    def wait_for(self, text: str, timeout: str | float = _WAITS) -> Program:
        """Wait until it has printed a text. Raises ProgramFailed if it has not in time."""
        waits = {"program": self.number, "timeout": nanoseconds(timeout)}
        if not self.network.order("wait_text", text=text, **waits):
            raise self.failed(f"has not printed {text!r} within {timeout}")
        return self

    def signal(self, name: str = "SIGTERM") -> None:
        """Send it a signal by its name."""
        self.network.order("signal", program=self.number, name=name)

    def check(self) -> Program:
        """Raise ProgramFailed unless it has ended well."""
        if self.status != 0:
            raise self.failed(f"ended with status {self.status}")
        return self

    def failed(self, what: str) -> ProgramFailed:
        """Return the error with what it printed last."""
        now = self.network.now_ns / SECOND
        words = [f"{self.host}: {shlex.join(self.argv)} {what}, at {now:.6f} s."]
        words += [f"{name}: {getattr(self, name)[-_TAIL:]}" for name in self.printed]
        return ProgramFailed("\n".join([*words, *self.lack()]))

    def lack(self) -> list[str]:
        """Return why its host did not find it, and the remedy; empty if the host did."""
        absent = f"{self.argv[0]}: {os.strerror(errno.ENOENT)}\n"  # testbed/lab/kernel/init.c
        if self.status != _NOT_FOUND or self.stderr != absent:
            return []
        if folders := self.network.folders:
            return [folders.lack(self.argv[0])]
        return ["Hosts see another system than this computer's, and it has no such program."]

    def hear(self, news: dict[str, Any]) -> None:
        for name, printed in self.printed.items():
            printed += str(news[name]).encode("latin-1")
        if news["ended_at"] is not None:
            self.status, self.ended = int(news["status"]), news["ended_at"] / SECOND


CALL = "TCPLAB_CALL"  # the variable with RUNNER, which is then in no command line
CALLER = f"import os; exec(os.environ.pop('{CALL}'))"
_ANSWER, _TUPLE = "\n==tcplab answer==", "()"  # as in RUNNER
RUNNER = Path(__file__).with_name("runner.txt").read_text(encoding="utf-8")


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
    _printed, marker, text = program.stdout.rpartition(_ANSWER)
    if not marker:
        raise program.failed("did not return")
    answer = json_value(text)
    if "value" in answer:
        return _value(answer["value"])
    kind = getattr(builtins, answer["error"], None)
    error: Exception = ProgramFailed(answer["trace"])
    if isinstance(kind, type) and issubclass(kind, Exception):
        error = kind(answer["words"])
    error.add_note(f"In {program.host}:\n{answer['trace']}")
    raise error


def _value(data: Any) -> Any:
    if isinstance(data, dict):
        if list(data) == [_TUPLE]:
            return tuple(map(_value, data[_TUPLE]))
        return {key: _value(item) for key, item in data.items()}
    return list(map(_value, data)) if isinstance(data, list) else data
