"""Limits of time, memory and output for processes that read strangers' files and answer in JSON.

The processes are forked from a server that has loaded the readers, so each costs some hundredths of
a second. A process that crashes, loops or eats memory ends alone.
"""

import json
import multiprocessing
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from testbed.host import PREFIX
from topologies.errors import TcplabError
from topologies.notation import json_value

SECONDS = 120.0  # wall seconds of a reader; the limit of CPU seconds is the same
_ANSWER = 16 << 20  # bytes
_ENDING = 20.0  # seconds in which a process that holds a guest may end it
_BY_HAND, _STOPPED = "Look at it by hand.", "It was stopped; look at it by hand."
_CONTEXT = multiprocessing.get_context("forkserver")
_READERS = ("comparison", "class_grading", "files")  # they import the others
_CONTEXT.set_forkserver_preload([f"{PREFIX}labs.grading.{name}" for name in _READERS])

Answer = TypeVar("Answer")
Tell = Callable[[str, float], None]
"""Hears what is being done and how far it is; what it raises ends the process."""


@dataclass(frozen=True)
class Allowance:
    """The limits of a process: wall and CPU seconds, bytes of address space, bytes of a file.

    NumPy's thread pools alone take a GiB of address space. The file of a guest with a GiB of memory
    has 64 MiB more (testbed.virtual.sandbox).
    """

    seconds: float = SECONDS
    memory: int = 3 << 30
    file: int = (1 << 30) + (64 << 20)


class NotContained(TcplabError):
    """It ended without an answer: at a limit, or by a crash."""


def contained(
    function: Callable[..., Any],
    *arguments: Any,
    allowance: Allowance = Allowance(),
    tell: Tell | None = None,
) -> Any:
    """`function(*arguments)` as plain data, from a limited process.

    With `tell` the function gets one more argument, to be called with (phase, seconds) as it
    goes on. Raises NotContained at a limit or a crash, TcplabError with the function's own
    message.
    """
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    words = (sender, allowance, function, arguments, tell is not None)
    process = _CONTEXT.Process(target=_inside, args=words, daemon=True)
    process.start()
    sender.close()
    try:
        answer = _answer(receiver, allowance.seconds, tell)
    finally:
        _end(process, gently=tell is not None)
        receiver.close()
    if answer.get("problem"):
        kind = NotContained if answer.get("crashed") else TcplabError
        raise kind(str(answer["problem"]), str(answer["remedy"]))
    return answer["value"]


def contained_as(
    kind: type[Answer],
    function: Callable[..., Any],
    *arguments: Any,
    allowance: Allowance = Allowance(),
    tell: Tell | None = None,
) -> Answer:
    """Return the answer of `contained` as a `kind`. Raises NotContained for another shape."""
    answer = contained(function, *arguments, allowance=allowance, tell=tell)
    try:
        json.dumps(answer, ensure_ascii=False).encode()
        return msgspec.convert(answer, kind, str_keys=True)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        problem = f"Reading it gave an answer of no use ({type(error).__name__})."
        raise NotContained(problem, _BY_HAND) from None


def _answer(receiver: Connection, seconds: float, tell: Tell | None) -> dict[str, Any]:
    ends = time.monotonic() + seconds
    while True:
        try:
            if not receiver.poll(max(0.0, ends - time.monotonic())):
                raise NotContained(f"Reading it took more than {seconds:g} s.", _STOPPED)
            message = json_value(receiver.recv_bytes(_ANSWER))
        except (EOFError, OSError, ValueError):
            problem = "Reading it ended in a crash or took too much memory."
            raise NotContained(problem, _STOPPED) from None
        if not isinstance(message, dict):
            raise NotContained("Reading it gave no answer.", _BY_HAND)
        if "phase" not in message:
            return message
        if tell:
            tell(str(message["phase"]), float(message["elapsed"]))


def _end(process: BaseProcess, gently: bool) -> None:
    """End the process and its group; what holds a guest may end that first."""
    if gently:
        process.terminate()
        process.join(_ENDING)
    try:
        os.killpg(process.pid or 0, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()  # it has ended, or had not made its group yet
    process.join()


def _inside(
    sender: Connection,
    allowance: Allowance,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    telling: bool,
) -> None:
    os.setsid()
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(1))
    seconds = int(allowance.seconds)
    resource.setrlimit(resource.RLIMIT_AS, (allowance.memory, allowance.memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (allowance.file, allowance.file))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    def tell(phase: str, elapsed: float) -> None:
        inform(sender, {"phase": phase, "elapsed": elapsed})

    more = (tell,) if telling else ()
    try:
        answer = {"value": msgspec.to_builtins(function(*arguments, *more), str_keys=True)}
    except TcplabError as error:
        answer = {"problem": error.problem, "remedy": error.remedy}
    except Exception as error:  # any failure of a reader at a stranger's file ends here
        problem = "It is nested too deeply or too large to be read."
        if not isinstance(error, MemoryError | RecursionError):
            problem = f"Reading it failed: {kind_and_place(error)}."
        answer = {"problem": problem, "remedy": _BY_HAND, "crashed": True}
    inform(sender, answer)
    sender.close()


def kind_and_place(error: Exception) -> str:
    """Return the kind and place of an error without its words, which may be the stranger's."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"


def inform(sender: Connection, message: dict[str, Any]) -> None:
    """Send a message; end if the command that would read it was stopped."""
    try:
        sender.send_bytes(json.dumps(message).encode())
    except BrokenPipeError:
        sys.exit(1)
