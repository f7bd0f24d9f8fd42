"""The analysis as a process of its own, which makes the report of a run or the page of a sweep."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import experiments
from testbed.host.naming import PLACE, command
from testbed.host.sudo_user import invoking_user
from topologies.foundation.errors import TcplabError


def make_page(kind: str, folder: Path, words: IO[str] | None = None) -> int:
    """Have the analysis make the page of a finished `sweep` or `reproduction`: its exit status.

    What it says goes to `words`, by default to standard output.
    """
    command = _analysis(kind, str(folder.resolve()))
    done = subprocess.run(command, cwd=PLACE, check=False, stdout=words)
    return done.returncode


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


class Reporter:
    """The analysis, loading while the experiment runs.

    It judges the network of a run that is not yet in its place, then makes the report of the run in
    its place; it is asked for either once. `study` is the run's experiment, whose own report is
    loaded meanwhile. What it says goes to `words`, by default to standard output.
    """

    def __init__(self, study: str, words: IO[str] | None = None) -> None:
        self._answers, told = os.pipe()
        self._process = subprocess.Popen(
            _analysis("report", "--wait", "--study", study, "--network", str(told)),
            stdin=subprocess.PIPE,
            stdout=words,
            text=True,
            cwd=PLACE,
            process_group=0,
            pass_fds=(told,),
        )
        os.close(told)

    def judge(self, folder: Path) -> dict[str, Any] | None:
        """The verdict on the network (docs/verdict.md); None if the analysis could not tell."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{folder.resolve()}\n")
            self._process.stdin.flush()
        with os.fdopen(os.dup(self._answers), encoding="utf-8") as answers:
            line = answers.readline()
        verdict: dict[str, Any] | None = json.loads(line) if line.endswith("\n") else None
        return verdict

    def __call__(self, run: Path) -> int:
        """The exit status of the analysis after it made the report. Raises TcplabError."""
        self._process.communicate(f"{run.resolve()}\n")
        status = int(self._process.returncode)
        if status < 0:
            problem = (
                f"The analysis was ended by {signal.Signals(-status).name}; {run} has no report."
            )
            raise TcplabError(
                problem, "./tcplab doctor says whether this processor lacks instructions."
            )
        return status

    def close(self) -> None:
        """End the analysis, whatever it does."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._answers)


@contextmanager
def reporter(study: str, words: IO[str] | None = None) -> Iterator[Reporter]:
    """The analysis as a process for a run of this study, which ends with the block."""
    process = Reporter(study, words)
    try:
        yield process
    finally:
        process.close()
