"""Failure domains of grading: a failure in one hand-in ends the grading of that hand-in alone.

A step that reads a stranger's content runs in a limited process (labs.measuring.contained). The
other steps of a hand-in handle checked values only, and run inside `failure_domain`.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from enum import StrEnum
from typing import TypeVar

from labs.grading.case import Case
from labs.measuring.contained import kind_and_place
from testbed.host.processes import allowed_processors
from topologies.errors import TcplabError

Given = TypeVar("Given")
Result = TypeVar("Result")
_OF_THE_MACHINE = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENFILE}
"""Errors that would hit every hand-in: they end the command."""


class Stage(StrEnum):
    """A step of grading that handles one hand-in, in the words of a message."""

    OPEN = "Opening it"
    OWNER = "Finding its owner"
    PLAN = "Planning its runs"
    REPEAT = "Repeating its runs"
    COMPARE = "Comparing its captures"
    SCRIPTS = "Running its scripts"
    MARK = "Marking its answers"
    RESEMBLE = "Comparing its answers with those of others"
    DECIDE = "Applying the decisions about it"
    RENDER = "Writing its feedback"


@contextmanager
def failure_domain(case: Case, stage: Stage) -> Iterator[None]:
    """Turn every failure of a step into the state of its hand-in.

    Raises OSError for a failure of the machine, such as a full disk.
    """
    try:
        yield
    except TcplabError as error:
        case.refuse(str(error))
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
            raise
        problem = f"{stage.value} failed: {kind_and_place(error)}."
        case.refuse(str(TcplabError(problem, "Look at it by hand.")))


def at_once(step: Callable[[Given], Result], given: Sequence[Given]) -> Iterator[Result]:
    """Return the results of a step in order. As many run at once as there are processors."""
    with ThreadPoolExecutor(allowed_processors()) as pool:
        yield from pool.map(step, given)
