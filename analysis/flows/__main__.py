"""`python -m analysis.flows FILE`: every column of every connection as CSV.

As little as possible is loaded: it is for programs, and for many files; `./tcplab analyze` is for
people.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from itertools import repeat

from analysis.flows.columns import connection_names
from analysis.flows.engine_columns import Handed, listed
from analysis.flows.reader import columns
from topologies.errors import TcplabError, UsageError


def main(words: list[str]) -> int:
    """Prints the table; what is wrong with the file goes to standard error.

    The exit status: 1 for a damaged file.
    """
    try:
        if len(words) != 1 or words[0].startswith("-"):
            raise UsageError("One capture is read.", f"python -m {__package__} FILE")
        frames, facts = columns(words[0])
    except TcplabError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(connection_names())
    if frames["connections"]:
        writer.writerows(_rows(frames["connections"]))
    if facts.fault:
        print(
            f"Error: {facts.path}: {facts.fault} (at byte {facts.fault_offset}).", file=sys.stderr
        )
    return 1 if facts.fault else 0


def _rows(handed: Mapping[str, Handed]) -> Iterator[tuple[object, ...]]:
    """Numbers of the connections differ, so that their column is as long as there are rows."""
    height = len(listed(*handed["connection"]))
    cells = [listed(*handed[name]) for name in connection_names()]
    return zip(
        *[values if len(values) == height else repeat(values[0], height) for values in cells],
        strict=True,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
