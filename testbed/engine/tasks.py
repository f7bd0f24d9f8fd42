"""Tasks and what becomes of them, wherever they are carried out: here or on a cluster."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from topologies.foundation.errors import TcplabError


class Stopped(Exception):
    """The task is not wanted any more."""


@dataclass(frozen=True)
class Task:
    """`function(*arguments, lab, progress)` for a worker. Equal keys stand for equal results."""

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


@dataclass(frozen=True)
class Done:
    """What became of a task: its value, or what ended it and the traceback."""

    key: str
    value: Any = None
    error: BaseException | None = None
    trace: str = ""

    @classmethod
    def failed(cls, key: str, error: BaseException) -> Done:
        """The task was ended by this error."""
        return cls(key, error=error, trace="".join(traceback.format_exception(error)).strip())

    def result(self) -> Any:
        """The value, or the TcplabError that ended the task. Raises what is a bug."""
        if self.error and not isinstance(self.error, TcplabError):
            raise self.error
        return self.error or self.value


class Listener(Protocol):
    """It hears how tasks go on, from any thread."""

    def running(self, key: str, phase: str, elapsed: float) -> None:
        """A task is at this phase, and this many seconds on its own clock."""

    def note(self, text: str) -> None:
        """News for people."""


class Engine(Protocol):
    """A way to workers, whose lab and code are ours."""

    def run(self, tasks: Iterable[Task]) -> Iterator[Done]:
        """The results in the order in which they come; tasks are taken as there is room for them.

        What is still running is ended if the caller goes away. Raises TcplabError if nobody can
        carry tasks out any more.
        """
