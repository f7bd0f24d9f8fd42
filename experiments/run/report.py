"""The analysis, with what studies add, as a process that makes pages; checks of `--strict`."""

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import experiments
from testbed.host import PLACE, command
from testbed.host.processes import invoking_user
from topologies.errors import TcplabError
from topologies.notation import json_value


def program(*words: str) -> list[str]:
    return command("experiments.reporting.studies", *words)


def make_page(kind: str, folder: Path, words: IO[str] | None = None) -> int:
    """Make the page of a `sweep` or `reproduction`; return the status. Text goes to `words`."""
    command = _analysis(kind, str(folder.resolve()))
    return subprocess.run(command, cwd=PLACE, check=False, stdout=words).returncode


def _analysis(*words: str) -> list[str]:
    """Return the command line, under sudo as the user who typed it."""
    if not (caller := invoking_user()):
        return program(*words)
    user, group = map(str, caller)
    studies = f"{experiments.STUDIES}={os.environ.get(experiments.STUDIES, '')}"
    as_user = ["setpriv", "--reuid", user, "--regid", group, "--init-groups", "--reset-env"]
    return [*as_user, "env", studies, *program(*words)]


class Reporter:
    """The analysis, loading with the report of `study` while the experiment runs.

    It judges the network of an unfinished run once, then makes the report; text goes to `words`.
    """

    def __init__(self, study: str, words: IO[str] | None = None) -> None:
        self._answers, told = os.pipe()
        self._process = subprocess.Popen(
            _analysis("serve", study, str(told)),
            stdin=subprocess.PIPE,
            stdout=words,
            text=True,
            cwd=PLACE,
            process_group=0,
            pass_fds=(told,),
        )
        os.close(told)

    def judge(self, folder: Path) -> dict[str, Any] | None:
        """Verdict on the network (docs/concepts/verdict.md); None if the analysis failed."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{folder.resolve()}\n")
            self._process.stdin.flush()
        with os.fdopen(os.dup(self._answers), encoding="utf-8") as answers:
            line = answers.readline()
        verdict: dict[str, Any] | None = json_value(line) if line.endswith("\n") else None
        return verdict

    def __call__(self, run: Path) -> int:
        """Return the exit status of the analysis after it made the report. Raises TcplabError."""
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
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._answers)


GOOD = "good"
_REMEDY = "Its page compares specification and measurement; see docs/concepts/verdict.md."


def require_good_network(run: Path) -> None:
    """Raise TcplabError with the first reason unless the manifest of `run` calls it good."""
    network = json_value((run / "manifest.json").read_text()).get("network")
    if not network:
        raise TcplabError("The analysis gave no verdict on the network of this run.", _REMEDY)
    if network["verdict"] != GOOD:
        reason = next(iter(network["reasons"]), "")
        raise TcplabError(f"The network is {network['verdict']}: {reason}", _REMEDY)


def require_good_points(counts: Mapping[str, int]) -> None:
    """Raise TcplabError unless the network of every point is good; `counts` is by verdict."""
    others = {verdict: number for verdict, number in counts.items() if verdict != GOOD}
    if others:
        words = ", ".join(f"{number} {verdict}" for verdict, number in others.items())
        raise TcplabError(
            f"The network of {sum(others.values())} points is not good: {words}.", _REMEDY
        )
