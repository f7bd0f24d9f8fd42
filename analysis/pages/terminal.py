"""Reports in the terminal."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

CHECK, BROKEN = "yellow", "bold red"


class Terminal(Console):
    """Standard output that prints text from files without interpreting it."""

    def __init__(self) -> None:
        super().__init__(highlight=False, soft_wrap=True)

    def say(self, *lines: str, style: str = "") -> None:
        """Print each line."""
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
