"""Pages of runs and sweeps with what their studies add: the analysis imports no study."""

from __future__ import annotations

from testbed.host.naming import PREFIX, command


def program(*words: str) -> list[str]:
    """Return the command line of a process that makes such pages."""
    return command(__name__.removeprefix(PREFIX), *words)
