"""The source lines at which functions of a kernel of one's own were when it crashed.

A kernel is kept without debugging information, which is many times as large. So the files of these
functions are compiled once more, with it: the same compiler makes the same code of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.lab.kernel.choice import KernelChoice
from testbed.lab.kernel.recipe import FIXED, configured, kernel_recipe
from testbed.recipes import cache
from testbed.recipes.building import BuildReport, Workshop
from testbed.recipes.cache import Facts, Recipe
from topologies.foundation.errors import CommandError, TcplabError

LINES = "lines.json"
_FOLDERS = ("net", "kernel", "lib", "mm", "fs", "arch/um", "arch/x86/um")
_MOST = 3  # files that are tried for a function


ADDRESS_TO_LINE = ("addr2line", "--inlines", "-e")
"""addr2line(1), which prints FILE:LINE, and below it where that is inlined, if it is."""


@dataclass(frozen=True)
class KernelPlace:
    """A place in a function, `offset` bytes behind its begin.

    Unless it is `exact` it is behind a call, which is meant.
    """

    function: str
    offset: int
    exact: bool


@dataclass(frozen=True)
class SourcePlace:
    """A line of the kernel's source."""

    file: str
    number: int


Place = KernelPlace | SourcePlace


def lines_of(choice: KernelChoice, places: Sequence[Place]) -> list[str]:
    """ "FILE:NUMBER: TEXT" for each place, empty if it is not known.

    All are, if the source is gone or cannot be compiled any more.
    """
    try:
        entry = cache.ready(lines_recipe(choice, places), BuildReport())
    except TcplabError:
        return [""] * len(places)
    lines: list[str] = json.loads((entry.folder / LINES).read_text())
    return lines


def lines_recipe(choice: KernelChoice, places: Sequence[Place]) -> Recipe:
    """Return the recipe for LINES, a list with "FILE:NUMBER: TEXT" or "" for each place."""
    kernel = kernel_recipe(choice)
    return Recipe(
        "lines",
        kernel.sources,
        (LINES,),
        lambda workshop: find_lines(workshop, choice, places),
        f"{kernel.variant} {places}",
        (*kernel.steps, _FOLDERS, _MOST, ADDRESS_TO_LINE),
    )


def find_lines(workshop: Workshop, choice: KernelChoice, places: Sequence[Place]) -> Facts:
    """Leave LINES in the workshop. Raises TcplabError, CommandError."""
    build, _source, _release = configured(workshop, choice)
    make = [*_with_debugging(build.make), "-C", "tree"]
    command = [*make, "prepare"]
    workshop.run("Preparing to look for source lines", command, environment=FIXED)
    lines = [
        _written(workshop, place.file, place.number)
        if isinstance(place, SourcePlace)
        else _line(workshop, make, place)
        for place in places
    ]
    (workshop.folder / LINES).write_text(json.dumps(lines))
    return {"name": choice.name}


def _with_debugging(make: list[str]) -> list[str]:
    """Return the command with -g among the flags of the compiler, less what follows -C."""
    flags = "KCFLAGS="
    own = next((word for word in make if word.startswith(flags)), flags)
    kept = [word for word in make if word not in (own, "-C", "tree")]
    return [*kept, f"{own} -g"]


def written_in(printed: str) -> tuple[str, str]:
    """File and line of what ADDRESS_TO_LINE printed.

    Of code that is inlined from a header the place in the source that uses it is meant.
    """
    places = [line.split(" (")[0].rpartition(":")[::2] for line in printed.splitlines()]
    return next((place for place in places if place[0].endswith(".c")), places[0])


def _line(workshop: Workshop, make: list[str], place: KernelPlace) -> str:
    for source in _sources(workshop.folder / "tree", place.function):
        made = source.with_suffix(".o").as_posix()
        try:
            workshop.run(f"Compiling {source}", [*make, made], environment=FIXED)
            return _read(workshop, f"tree/{made}", place)
        except (CommandError, ValueError):
            continue  # it is not part of this kernel, or has another function of that name
    return ""


def _sources(tree: Path, function: str) -> Iterator[Path]:
    """Yield files that seem to define the function, a compiler's suffix such as .isra.0 apart."""
    name = re.escape(function.partition(".")[0])
    begins = re.compile(rf"(?m)^(?!\s)[^\n;={{]*\b{name}\([^;]*?\)\s*\{{")
    files = (file for folder in _FOLDERS for file in sorted((tree / folder).rglob("*.c")))
    found = 0
    for file in files:
        text = file.read_text(errors="replace")
        if name in text and begins.search(text) and found < _MOST:
            found += 1
            yield file.relative_to(tree)


def _read(workshop: Workshop, made: str, place: KernelPlace) -> str:
    """ "FILE:NUMBER: TEXT". Raises CommandError, ValueError if the file has no such function."""
    symbols = workshop.run("Reading symbols", ["nm", "--format=sysv", made])
    rows = ([part.strip() for part in line.split("|")] for line in symbols.splitlines())
    own = (row for row in rows if len(row) == 7 and row[0] == place.function and row[3] == "FUNC")
    if (row := next(own, None)) is None:
        raise ValueError(place.function)
    address = int(row[1], 16) + place.offset - (not place.exact)
    command = [*ADDRESS_TO_LINE, made, "-j", row[6], f"{address:#x}"]
    name, number = written_in(workshop.run("Finding the line", command))
    file = name.rpartition("/tree/")[2].removeprefix("./")
    if not (line := _written(workshop, file, int(number) if number.isdecimal() else 0)):
        raise ValueError(place.function)  # ??: there is no line for this place
    return line


def _written(workshop: Workshop, file: str, number: int) -> str:
    """ "FILE:NUMBER: TEXT"; empty if there is no such line."""
    source = workshop.folder / "tree" / file
    lines = source.read_text(errors="replace").splitlines() if source.is_file() else []
    return f"{file}:{number}: {lines[number - 1].strip()}" if 0 < number <= len(lines) else ""
