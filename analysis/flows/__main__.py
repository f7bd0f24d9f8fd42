"""`python -m analysis.flows FILE`: every column of every connection as CSV.

As little as possible is loaded: it is for programs, and for many files; `./tcplab analyze` is for
people.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from analysis.flows.columns import connection_names
from analysis.flows.faults import FAULTS
from analysis.flows.installed_engines import find_engine, handed_over
from topologies.foundation.errors import TcplabError, UsageError


def main(words: list[str]) -> int:
    """Prints the table; what is wrong with the file goes to standard error.

    The exit status: 1 for a damaged file.
    """
    try:
        if len(words) != 1 or words[0].startswith("-"):
            raise UsageError("One capture is read.", f"python -m {__package__} FILE")
        handed = handed_over(Path(words[0]))
    except TcplabError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    columns, names = handed["connections"], connection_names()
    csv.writer(sys.stdout, lineterminator="\n").writerow(names)
    if columns:
        sys.stdout.write(find_engine("auto").lines([columns[name] for name in names]))
    if fault := handed["fault"]:
        place = f"(at byte {handed['fault_offset']})"
        print(f"Error: {words[0]}: {FAULTS[fault]} {place}.", file=sys.stderr)
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
