"""`python -m analysis.flows FILE`: print every column of every connection as CSV.

For programs and for many files: it loads neither NumPy nor the terminal's tables.
"""

import csv
import sys
from pathlib import Path

from analysis.flows.columns import connection_names
from analysis.flows.reader import columns, load_engine
from topologies.errors import TcplabError, UsageError


def main(words: list[str]) -> int:
    """Print the table, and damage to standard error. Return the exit status: 1 for damage."""
    try:
        if len(words) != 1 or words[0].startswith("-"):
            raise UsageError("Expected one capture.", f"python -m {__package__} FILE")
        handed, file = columns(Path(words[0]))
    except TcplabError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    connections, names = handed["connections"], connection_names()
    csv.writer(sys.stdout, lineterminator="\n").writerow(names)
    if connections:
        sys.stdout.write(load_engine().lines([connections[name] for name in names]))
    if file.fault:
        print(f"Error: {words[0]}: {file.fault} (at byte {file.fault_offset}).", file=sys.stderr)
    return 1 if file.fault else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
