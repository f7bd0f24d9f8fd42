"""The command that repeats a run."""

from __future__ import annotations

import shlex

from analysis.records.run_directory import RunRecord


def repeat_command(run: RunRecord, repeat: int | None = None) -> str:
    """The shell command for the same parameters, each an option, settings and first seed.

    `repeat` times, or as often as in `run` if None.
    """
    words = ["./tcplab", "run", run.experiment]
    for name, value in run.parameters.items():
        words += [f"--{name.replace('_', '-')}", value] if value else []
    for setting in run.spec.settings:
        words += ["--set", setting]
    words += ["--seed", str(run.seeds[0])] if run.seeds else []
    count = len(run.seeds) if repeat is None else repeat
    return shlex.join([*words, "--repeat", str(max(1, count))])
