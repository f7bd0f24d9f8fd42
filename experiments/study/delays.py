"""Delays over time, from a file: a line is a time and the delay from then on, such as 2s 80ms."""

from itertools import pairwise
from pathlib import Path

from topologies.errors import UsageError
from topologies.units import Duration

_MOST_BYTES = 20_000_000


def lines_of(file: Path, name: str, remedy: str) -> list[str]:
    """Return the lines of a user's file. Raises UsageError for a missing or a huge one."""
    try:
        with file.open("rb") as opened:
            text = opened.read(_MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{name}: {error.strerror}.", remedy) from None
    if len(text) > _MOST_BYTES:
        raise UsageError(f"{name}: over {_MOST_BYTES:,} bytes.", "Shorten it.")
    return text.decode(errors="replace").splitlines()


def read_delays(file: Path | str) -> tuple[tuple[Duration, Duration], ...]:
    """Return times, which increase, and delays. Text behind # is a comment. Raises UsageError."""
    shown = str(file)[-80:]
    lines = lines_of(Path(file), f"Delays {shown}", "Name a file.")
    words = ((line.partition("#")[0].split(), number) for number, line in enumerate(lines, 1))
    rows = tuple(_row(each, f"{shown}:{number}") for each, number in words if each)
    for (before, _), (time, _) in pairwise(rows):
        if time <= before:
            raise UsageError(f"{shown}: {time} comes after {before}.", "Sort the times.")
    if not rows:
        raise UsageError(f"Delays {shown} have no line.", "Write one such as 0s 40ms.")
    return rows


def _row(words: list[str], where: str) -> tuple[Duration, Duration]:
    if len(words) != 2:
        problem = f"{where}: '{' '.join(words)[:40]}' is no time and delay."
        raise UsageError(problem, "Write one line such as 2s 80ms.")
    try:
        return Duration.parse(words[0]), Duration.parse(words[1])
    except UsageError as error:
        raise UsageError(f"{where}: {error.problem}", error.remedy) from None
