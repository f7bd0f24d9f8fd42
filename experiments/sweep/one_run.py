"""A run from Python, as `tcplab run` does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from experiments.definition.catalogue import find
from experiments.definition.single_run import single
from experiments.published.same_settings import published_beside
from experiments.running.seed import limits_for, refuse_modules
from experiments.running.session import RunRequest, carry_out, choose, reporter
from testbed.jobs.following import Progress
from testbed.lab.ready import lab

_SECONDS = 600.0  # of wall time for a seed


def run(
    experiment: str,
    settings: Mapping[str, str] | None = None,
    *,
    seeds: int | Sequence[int] = 1,
    testbed: str = "auto",
    out: Path | str = "runs",
) -> Path:
    """Run an experiment and make its report: the run's directory.

    `settings` are parameters, fields of the spec or sysctls, with values as they are typed:
    `{"loss": "2%"}`. `seeds` counts from 1 or names them. Raises UsageError before anything runs
    if a name or a value is impossible, TcplabError if a seed failed.
    """
    named, place = find(experiment), choose(testbed)
    made = single(named, [f"{name}={value}" for name, value in (settings or {}).items()])
    if place == "native":
        refuse_modules(made.spec, load_modules=False)
    request = RunRequest(
        made.spec,
        made.parameters,
        tuple(range(1, seeds + 1) if isinstance(seeds, int) else seeds),
        place,
        Path(out),
        limits_for(made.spec, _SECONDS),
        published=tuple(number.described() for number in published_beside(made.spec)),
    )
    with reporter() as report:
        folder = carry_out(request, lab() if place == "virtual" else None, _unwatched)
        report(folder)
    return folder


def _unwatched(_seed: int) -> Progress:
    return lambda _phase, _elapsed: None
