"""Strangers' files are read in processes of their own, with limits of time, memory and output; they answer in JSON.

The processes are forked from a server that has loaded what they need, so one costs some hundredths of a second, and
one that crashes, loops or eats memory ends alone.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from topologies.errors import TcplabError

SECONDS = 120.0
"""Wall seconds; the limit of CPU seconds is the same."""
_MEMORY = 3 << 30  # bytes of address space; NumPy's thread pools alone take one
_FILE = 1 << 30  # bytes of the largest file that may be written
_ANSWER = 16 << 20  # bytes
_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["labs.measuring", "labs.grading.inspection", "labs.grading.authentic"])


class NotContained(TcplabError):
    """It ended without an answer: at a limit, or by a crash."""


def contained(function: Callable[..., Any], *arguments: Any, seconds: float = SECONDS) -> Any:
    """`function(*arguments)`, which must be JSON-able, from a limited process.

    Raises NotContained at a limit or a crash, TcplabError with the function's own message.
    """
    receiver, sender = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_inside, args=(sender, seconds, function, arguments), daemon=True)
    process.start()
    sender.close()
    try:
        answer = _answer(receiver, seconds)
    finally:
        _end(process.pid)
        process.join()
        receiver.close()
    if answer.get("problem"):
        raise TcplabError(str(answer["problem"]), str(answer["remedy"]))
    return answer["value"]


def _answer(receiver: Connection, seconds: float) -> dict[str, Any]:
    try:
        if not receiver.poll(seconds):
            raise NotContained(f"Reading it took more than {seconds:g} s.", "It was stopped; look at it by hand.")
        found = json.loads(receiver.recv_bytes(_ANSWER))
    except (EOFError, OSError, ValueError):
        raise NotContained(
            "Reading it ended in a crash or took too much memory.", "It was stopped; look at it by hand."
        ) from None
    if not isinstance(found, dict):
        raise NotContained("Reading it gave no answer.", "Look at it by hand.")
    return found


def _end(group: int | None) -> None:
    """The process and what it started: it leads a group of its own."""
    try:
        os.killpg(group or 0, signal.SIGKILL) if group else None
    except (ProcessLookupError, PermissionError):
        return  # it has ended, or had not made its group yet; then it ends with our pipe


def _inside(sender: Connection, seconds: float, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE, _FILE))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = {"value": function(*arguments)}
    except TcplabError as error:
        answer = {"problem": error.problem, "remedy": error.remedy}
    except (MemoryError, RecursionError):
        answer = {"problem": "It is nested too deeply or too large to be read.", "remedy": "Look at it by hand."}
    sender.send_bytes(json.dumps(answer).encode())
    sender.close()
