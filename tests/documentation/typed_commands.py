"""The commands of the documentation, as a reader finds them: in `console` blocks and indented.

A `console` block is a terminal: what stands behind `$ ` is typed, the rest was printed. Of an
indented block the lines that begin with ./tcplab count. Two comments, which readers do not see, are
for the tests: `<!-- $ COMMAND -->` does what the text asks a reader to do in an editor, and
`<!-- status: N -->` says that the last command of the next block ends with N. A Python block with a
title is a file that the reader saves under that name.
"""

import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "./tcplab"
_STEP = re.compile(
    r"^<!-- \$ (?P<edit>.*?) -->$"
    r"|^<!-- status: (?P<status>\d+) -->$"
    r"|^```console\n(?P<console>.*?)^```$"
    r'|^```python title="(?P<name>[^"]+)"\n(?P<content>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)
_INDENTED = re.compile(r"^ {4}(?:\w+=\S+ )*(\./tcplab .*)$", re.MULTILINE)
_SEPARATORS = {"|", "||", "&&", ";", ">", "2>&1", "&"}
_OF_THE_LAUNCHER = ("test",)  # words that ./tcplab takes itself


@dataclass(frozen=True)
class Step:
    """What is done at one place of a page: a file is saved, or a command typed.

    `printed` are the lines that the page shows below the command.
    """

    command: str = ""
    status: int = 0
    printed: tuple[str, ...] = ()
    name: str = ""
    content: str = ""


def steps(page: Path) -> Iterator[Step]:
    """All of a page's terminals, in their order."""
    expected = 0
    for match in _STEP.finditer(page.read_text(encoding="utf-8")):
        if match["edit"]:
            yield Step(match["edit"])
        elif match["status"]:
            expected = int(match["status"])
        elif match["name"]:
            yield Step(name=match["name"], content=match["content"])
        else:
            typed = _typed(match["console"])
            yield from (Step(line, 0, printed) for line, printed in typed[:-1])
            yield Step(typed[-1][0], expected, typed[-1][1])
            expected = 0


def _typed(console: str) -> list[tuple[str, tuple[str, ...]]]:
    """Each command of a terminal, with the lines that it printed."""
    parts = re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]
    whole = [part.splitlines() for part in parts]
    return [(line, tuple(filter(None, printed))) for line, *printed in whole]


def words_alone(line: str) -> str:
    """A line of output without the frames and spaces of tables, which depend on the width.

    A page may end a long line with an ellipsis.
    """
    return " ".join(
        re.sub("[\u2500-\u257f]", " ", line).removesuffix("\N{HORIZONTAL ELLIPSIS}").split()
    )


def pages() -> list[Path]:
    """Every page of the documentation that is written by hand."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("experiments/*/*.md")]
    return sorted(found)


def commands(page: Path) -> Iterator[list[str]]:
    """The words behind ./tcplab of each command of a page, as a shell takes them apart."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in [*(step.command for step in steps(page)), *_INDENTED.findall(text)]:
        yield from _of_ours(shlex.split(line, comments=True))


def gallery_commands() -> list[list[str]]:
    content = tomllib.loads((ROOT / "docs/gallery/pictures.toml").read_text())
    lines = (line for picture in content["picture"] for line in picture["commands"])
    return [shlex.split(line)[1:] for line in lines]


def _of_ours(words: list[str]) -> Iterator[list[str]]:
    while PROGRAM in words:
        words = words[words.index(PROGRAM) + 1 :]
        ends = [at for at, word in enumerate(words) if word in _SEPARATORS]
        own = words[: min(ends, default=len(words))]
        own = own[own[:1] == ["--yes"] :]  # the launcher takes it
        if own and own[0] not in _OF_THE_LAUNCHER:
            yield own
