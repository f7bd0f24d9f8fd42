"""Pages from templates, written so that no reader sees half of one, and their terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from topologies.errors import TcplabError, is_disk_full

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


Content = bytes | Iterator[bytes]  # of a file: the whole, or piece by piece


def write(folder: Path, files: Iterable[tuple[str, Content]], command: str) -> None:
    """Write all files of a page. Raises TcplabError that names the `command` to repeat."""
    try:
        for name, content in files:
            _put(folder / name, content)
    except OSError as error:
        remedy = f"Name a folder that you may write to: ./tcplab {command} --out FOLDER"
        if is_disk_full(error):
            remedy = f"Free some space, then: ./tcplab {command}"
        problem = f"The page cannot be written to '{folder}' ({error.strerror})."
        raise TcplabError(problem, remedy) from error


def _put(path: Path, content: Content) -> None:
    """Write in one step: no reader sees half a file, and a full disk leaves none behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content)
        partial.replace(path)
    except BaseException:  # a piece may fail to be made
        partial.unlink(missing_ok=True)
        raise


def render(name: str, context: dict[str, Any]) -> str:
    """Everything from files is untrusted: HTML is escaped by Jinja, Markdown by `_markdown`."""
    text = _environment().get_template(name).render(context)
    return _CODE.sub(lambda match: _INDENT.sub("\n", match[0]), text)


_CODE, _INDENT = re.compile(r"<(style|script)>.*?</\1>", re.S), re.compile(r"\n[ \t]+")
"""Styles and scripts of a page, of which the indentation is left out."""


def with_code(text: str) -> Markup:
    """Return `text` as HTML for an element, with names between back-ticks as code."""
    from markupsafe import Markup

    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False)))


_OTHER_PAGES = re.compile(r"(comparison|differences|index|kernels|recorded|reproduction|sweep)\.")


def load() -> None:
    """Compile the templates of a run's report before there is anything to render."""
    environment = _environment()
    for name in environment.list_templates(filter_func=lambda name: not _OTHER_PAGES.match(name)):
        environment.get_template(name)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=lambda name: name is None or not name.endswith(".md"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "markdown": _markdown,
        "g": "{:g}".format,
        "px": "{:.0f}".format,
        "before_range": lambda cell: cell.partition(" (")[0],
        "range": lambda cell: "".join(cell.partition(" (")[1:]).strip(),  # a separate line
    }
    return environment


def _markdown(text: str) -> str:
    """Return `text` on one line with everything escaped that Markdown or HTML interprets."""
    escaped = "".join(f"\\{letter}" if letter in "\\`*_[]<>#|&!~" else letter for letter in text)
    return " ".join(escaped.split())


CHECK, BROKEN = "yellow", "bold red"


class Terminal(Console):
    """Standard output that prints text from files without interpreting it."""

    def __init__(self) -> None:
        super().__init__(highlight=False, soft_wrap=True)

    def say(self, *lines: str, style: str = "") -> None:
        for line in lines:
            self.print(Text(line, style=style))

    def check(self, remarks: Sequence[str], most: int, more: str = "more on the page") -> None:
        """Print the first `most` remarks, and how many more the page has."""
        self.say(*(f"Check: {remark}" for remark in remarks[:most]), style=CHECK)
        if len(remarks) > most:
            self.say(f"... and {len(remarks) - most} {more}", style=CHECK)

    def end(self, page: Path, status: str, marked: str) -> None:
        """Print the path of the page, after `marked` with the status if that is not complete."""
        if status != "complete":
            self.say(marked.format(status), style=BROKEN)
        self.say(f"Report: {page}")


def text_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], title: str = "", right: Sequence[int] = ()
) -> Table:
    """Return a table of texts, with the numbers of the columns that are aligned to the right."""
    table = Table(title=Text(title) if title else None)
    for at, name in enumerate(head):
        table.add_column(Text(name), justify="right" if at in right else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    return table
