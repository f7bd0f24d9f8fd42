"""The analysis as a process of its own, which makes the report of a run or the page of a sweep."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import experiments
from testbed.host.naming import PLACE, command
from testbed.host.sudo_user import invoking_user
from testbed.recipes import cache
from topologies.errors import TcplabError


def make_page(kind: str, folder: Path) -> int:
    """Have the analysis make the page of a finished `sweep` or `reproduction`: its exit status."""
    command = _analysis(kind, str(folder.resolve()))
    return subprocess.run(command, cwd=PLACE, env=_with_fonts(), check=False).returncode


def _analysis(*words: str) -> list[str]:
    """The analysis, as a process that reads a folder as anyone's, never as root under sudo."""
    return [*_as_caller(), *command("analysis", *words)]


def _as_caller() -> list[str]:
    """What to put before a command so that it runs as the user who typed sudo."""
    caller = invoking_user()
    if not caller:
        return []
    user, group = map(str, caller)
    studies = f"{experiments.STUDIES}={os.environ.get(experiments.STUDIES, '')}"
    as_user = ["setpriv", "--reuid", user, "--regid", group, "--init-groups", "--reset-env"]
    return [*as_user, "env", studies]


def _with_fonts() -> dict[str, str]:
    """Fonts are listed once, in a writable place; there may be no home folder."""
    return os.environ | {"MPLCONFIGDIR": str(cache.folder() / "matplotlib")}


@contextmanager
def reporter() -> Iterator[Callable[[Path], int]]:
    """The analysis, loading while the experiment runs.

    Call the result once with the run directory: it returns the exit status of the analysis.
    """
    process = subprocess.Popen(
        _analysis("report", "--wait"),
        stdin=subprocess.PIPE,
        text=True,
        cwd=PLACE,
        env=_with_fonts(),
        process_group=0,
    )

    def report(run: Path) -> int:
        process.communicate(f"{run.resolve()}\n")
        if process.returncode < 0:
            problem = (
                f"The analysis was ended by {signal.Signals(-process.returncode).name}; {run} has"
                " no report."
            )
            raise TcplabError(
                problem, "./tcplab doctor says whether this processor lacks instructions."
            )
        return int(process.returncode)

    try:
        yield report
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
