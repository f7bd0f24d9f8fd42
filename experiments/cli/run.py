"""`tcplab run NAME`: a command for each experiment, and its progress."""

from __future__ import annotations

import json
import re
import sys
import time
from functools import partial

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn

from experiments.cli.commands import list_option, one_clear_message, studies_option, use_defaults
from experiments.cli.options import options, options_from, parameter_options, print_results
from experiments.cli.sweep import run_study
from experiments.run.report import require_good_network
from experiments.run.request import RunOptions, RunRequest, choose
from experiments.run.session import run
from experiments.study.catalogue import Experiment, catalogue, find
from testbed.engine import Listener
from topologies.data import to_data


def command_of(named: Experiment, testbed: str = "virtual") -> click.Command:
    """Make the command of an experiment, with its parameters as options; `testbed` is a default."""
    forms = [
        click.Option(
            [f"--{word}"], is_flag=True, help=f"{meaning}: {_written(named.preset(word))}."
        )
        for word, meaning in (("quick", "Short, for a lab hour"), ("full", "As published"))
        if named.preset(word)
    ]
    grid = (
        f" Without {' and '.join(f'--{name}' for name in named.grid())} all values of the study are"
        " swept."
    )
    command = click.Command(
        named.name,
        params=[*parameter_options(named.parameters()), *forms],
        help=named.claim + (grid if named.grid() else ""),
        callback=partial(_call, named),
    )
    load = {"hidden": not named.loads_modules()}
    options("run", testbed={"default": testbed}, load_modules=load)(command)
    return list_option(command)


def _written(preset: dict[str, str]) -> str:
    return ", ".join(f"--{name} {value}" for name, value in preset.items())


def _call(named: Experiment, **_values: object) -> None:
    with one_clear_message(lambda: "run"):
        options = options_from(click.get_current_context(), named)
        study = options.is_whole_study() and not options.dry_run
        if study and choose(options.testbed)[0] == "virtual":
            raise SystemExit(run_study(options))
        _require_metrics(options)
        request = options.request()
        for sentence in options.run.rounded:
            click.echo(sentence, err=True)
        raise SystemExit(_describe(request) if options.dry_run else _run(request, options))


def _require_metrics(options: RunOptions) -> None:
    """Raise UsageError for an expression without a value in these runs."""
    spec = options.run.spec
    claimed = spec.headline.metric if spec.headline else ""
    if options.metrics or not _NAME.fullmatch(claimed):
        from experiments.sweep.point import require_metrics  # late: most runs need none

        require_metrics(options.metrics, spec)


_NAME = re.compile(r"[\w.]*")  # the name of a metric of the table, which the report finds


def _describe(request: RunRequest) -> int:
    described = {"parameters": to_data(request.parameters), **to_data(request.spec)}
    click.echo(json.dumps(described, indent=2))
    seconds = f"about {request.expected_seconds:.0f} s of the run's own clock each"
    click.echo(f"Dry run. {request.place}, {seconds}.", err=True)
    return 0


def _run(request: RunRequest, options: RunOptions) -> int:
    click.echo(request.place, err=True)
    with RunProgress(request) as progress:
        folder, status = run(request, progress, sys.stderr if options.as_json else None)
    if options.as_json:
        print_results([folder])
    if options.strict:
        require_good_network(folder)
    return status


class _Experiments(click.Group):
    """The commands of the catalogue's experiments, each made when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [named.name for named in catalogue()]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Experiments"), one_clear_message():
            formatter.write_dl([(named.name, named.claim) for named in catalogue()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        with one_clear_message():
            return command_of(find(cmd_name))


@click.group(cls=_Experiments, name="run")
@studies_option
@list_option
@click.pass_context
def experiments(context: click.Context) -> None:
    """Run an experiment by name."""
    use_defaults(context)


_BETWEEN = 5.0  # seconds between two lines, if no terminal is there to show a bar


class RunProgress(Listener):
    """Adds up the clocks of all seeds; shows a bar, or lines if standard error is no terminal."""

    def __init__(self, request: RunRequest) -> None:
        self._request, self._passed = request, dict[str, float]()
        self._whole = request.expected_seconds * len(request.seeds)
        self._printed_at = 0.0
        console = Console(stderr=True)
        self._bar = Progress(
            "{task.description}",
            BarColumn(),
            TaskProgressColumn(),
            "{task.fields[clock]}",
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task(request.spec.name, total=self._whole, clock="")

    def __enter__(self) -> RunProgress:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def running(self, key: str, phase: str, elapsed: float) -> None:
        count = len(self._request.seeds)
        if not self._passed:
            self._bar.start()
            self._printed_at = time.monotonic() - (_BETWEEN if count > 1 else 0.0)
            self._print_share(count)
        self._passed[key] = min(elapsed, self._request.expected_seconds)
        kind = "virtual" if self._request.testbed == "virtual" else "real"
        clock = f"{elapsed:.0f} s of {kind} time, seed {key}"
        completed = sum(self._passed.values())
        self._bar.update(self._task, description=phase, completed=completed, clock=clock)
        self._print_share(count)

    def _print_share(self, count: int) -> None:
        if time.monotonic() - self._printed_at < _BETWEEN or self._bar.console.is_terminal:
            return
        self._printed_at = time.monotonic()
        share = 100 * sum(self._passed.values()) / self._whole
        repetitions = "1 repetition" if count == 1 else f"{count} repetitions"
        line = f"{self._request.spec.name}: {share:.0f} % of {repetitions}"
        self._bar.console.print(line, highlight=False, soft_wrap=True)
