"""`tcplab verify RUN`."""

from __future__ import annotations

from pathlib import Path

import click

from experiments.harness.cli.completion import folders_of_runs
from experiments.harness.cli.messages import one_clear_message, ready_lab
from experiments.harness.cli.run_progress import progress_of
from experiments.harness.running.repetition import (
    Comparison,
    RunToRepeat,
    repeat,
    require_same_lab,
    to_repeat,
)
from experiments.harness.running.session import RunRequest

_SHOWN = 5


@click.command()
@click.argument(
    "folder", metavar="RUN", type=click.Path(path_type=Path), shell_complete=folders_of_runs
)
def verify(folder: Path) -> None:
    """Repeat a run of the lab kernel and compare all that it measured, byte by byte.

    Ends with 0 if all is the same. Otherwise it names the first packet that differs, and keeps the
    repetition beside the run.
    """
    with one_clear_message():
        run = to_repeat(folder)
        ready = ready_lab([run.spec.kernel])
        require_same_lab(run, ready)
        request = RunRequest(run.spec, None, run.seeds, "virtual", folder)
        with progress_of(request) as progress:
            comparison = repeat(run, ready, progress)
        click.echo("\n".join(_lines(run, comparison)))
        raise SystemExit(0 if comparison.same else 1)


def _lines(run: RunToRepeat, comparison: Comparison) -> list[str]:
    seeds = f"{len(run.seeds)} {'seed' if len(run.seeds) == 1 else 'seeds'}"
    if comparison.same:
        return [
            f"The same, byte by byte: all {comparison.files} files that the conditions of {seeds}"
            " measured came out again as they are in the run."
        ]
    named = [f"{difference.sentence}." for difference in comparison.captures]
    named += [f"{name} is another file." for name in comparison.others]
    more = [f"... and {len(named) - _SHOWN} more files."] if len(named) > _SHOWN else []
    other_code = "The code that runs in guests is another than the run's, which may explain it."
    return [
        f"Not the same: {len(named)} of {comparison.files} files differ.",
        *named[:_SHOWN],
        *more,
        *([other_code] if run.has_other_code else []),
        f"The repetition is kept in {comparison.kept}.",
    ]
