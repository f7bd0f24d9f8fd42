"""`tcplab clean`: undoes exactly what runs noted in their journals before they were killed.

Names and appearance do not count: what no journal holds is not touched, and a run
that lives is left alone. The standard library only.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from testbed.host.scratch import remove_orphans
from testbed.native.changes import undo_stale
from testbed.native.journal import stale
from topologies.foundation.errors import TcplabError


def main(arguments: Sequence[str] | None = None) -> int:
    """Clean up and print what was done; the exit status."""
    about = (__doc__ or "").partition("\n")[0]
    argparse.ArgumentParser(prog="tcplab clean", description=about).parse_args(arguments)
    try:
        if (left := stale()) and os.geteuid() != 0:
            problem = f"Killed runs have left changes of this machine: {left[0]}."
            raise TcplabError(problem, "sudo ./tcplab clean")
        if left:
            text = "Undoing what killed runs left; their connections may hold a module for some"
            print(f"{text} minutes.", file=sys.stderr)
        sentences = undo_stale() if left else []
        sentences += [f"{place} is removed." for place in remove_orphans()]
    except TcplabError as error:
        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    print("\n".join(sentences) or "Killed runs left no changes.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
