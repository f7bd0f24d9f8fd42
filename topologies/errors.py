"""The errors that every package raises, with remedies, and close matches for typed names."""

import errno
import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

_FULL = (errno.ENOSPC, errno.EDQUOT)
FREE_SPACE = "The disk is full: free some space, or set TCPLAB_CACHE to a folder on another disk."


class TcplabError(Exception):
    """A failure with a `remedy` for the reader; the program ends with `exit_code`."""

    exit_code = 1

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.problem} {self.remedy}".strip()


class UsageError(TcplabError):
    """An impossible or misspelt request, found before any work starts."""

    exit_code = 2


class CommandError(TcplabError):
    """A program's failure; space is the remedy if the output's end says that a disk is full."""

    def __init__(self, command: str, status: int, output: str, remedy: str = "") -> None:
        self.is_disk_full = any(os.strerror(number) in output for number in _FULL)
        remedy = FREE_SPACE if self.is_disk_full else remedy
        ending = "\n".join(output.strip().splitlines()[-15:]) or "(no output)"
        super().__init__(f"`{command}` failed with exit status {status}:\n{ending}\n", remedy)
        self.status, self.output = status, output
        self.args = (command, status, output, remedy)  # of which a copy is made


def is_disk_full(error: OSError) -> bool:
    """Return whether a disk or a quota is used up, so that space is the remedy."""
    return error.errno in _FULL


def is_absent(error: OSError) -> bool:
    """Return whether a program was not started because it is not installed."""
    # execvp(3) says EACCES of an absent program if a folder of the PATH may not be searched.
    is_unseen = isinstance(error, PermissionError) and "/" not in str(error.filename)
    return isinstance(error, FileNotFoundError) or is_unseen


T = TypeVar("T")


def named(problem: str, name: str, known: Mapping[str, T]) -> T:
    """Return the one of that name. Raises UsageError with all names and a close match."""
    if name in known:
        return known[name]
    choices = f"{close_to(name, known)}Choose from {', '.join(known)}." if known else "It has none."
    raise UsageError(f"{problem} '{name[:40]}'.", choices)


def close_to(name: str, known: Iterable[str]) -> str:
    """Return a question with the closest of the known names; empty if none is close."""
    close = get_close_matches(name, list(known), 1)
    return f"Do you mean {close[0]}? " if close else ""
