"""`tcplab run NAME`: a command for each experiment.
How far a run is: a bar of its own clock on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn

from experiments.harness.cli.commands import list_option, print_list, studies_option
from experiments.harness.cli.defaults import use_defaults
from experiments.harness.cli.messages import one_clear_message, ready_lab
from experiments.harness.cli.options import (
    common_options,
    options_from,
    parameter_options,
    print_results,
)
from experiments.harness.cli.sweep import run_study
from experiments.harness.definition.catalogue import Experiment, catalogue, find
from experiments.harness.running.report import reporter, require_good_network
from experiments.harness.running.request import RunOptions
from experiments.harness.running.session import RunRequest, carry_out, choose
from testbed.modules.module_build import build_all
from topologies.foundation.data import to_data


def command_of(named: Experiment) -> click.Command:
    """The command of one experiment: its parameters are options, each with the unit it takes."""
    listing = click.Option(
        ["--list"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=print_list,
        help="Name every experiment with its claim.",
    )
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
    options = [*parameter_options(named.parameters()), *forms, *common_options(named), listing]
    text = named.claim + (grid if named.grid() else "")
    return click.Command(named.name, params=options, help=text, callback=_callback(named))


def _written(preset: dict[str, str]) -> str:
    return ", ".join(f"--{name} {value}" for name, value in preset.items())


def _callback(named: Experiment) -> Callable[..., None]:
    def call(**_values: object) -> None:
        with one_clear_message():
            options = options_from(click.get_current_context(), named)
            study = not options.dry_run and options.is_whole_study()
            if study and choose(options.testbed) == "virtual":
                raise SystemExit(_run_study(options))
            request = options.request()
            run = (
                _describe(request)
                if options.dry_run
                else _run(request, options.strict, options.as_json)
            )
            raise SystemExit(run)

    return call


def _run_study(options: RunOptions) -> int:
    """The experiment is a sweep by itself, whose grid takes texts."""
    values = {name: str(value) for name, value in {**options.form, **options.typed}.items()}
    seeds = options.seeds or (options.first,)
    return run_study(
        options.named,
        values,
        options.settings,
        seeds,
        options.out,
        options.limit,
        options.strict,
        options.as_json,
    )


def _describe(request: RunRequest) -> int:
    click.echo(
        json.dumps({"parameters": to_data(request.parameters), **to_data(request.spec)}, indent=2)
    )
    testbed = (
        "the lab kernel, virtual time" if request.testbed == "virtual" else "this kernel, real time"
    )
    click.echo(
        f"Would run on {testbed}: seeds {', '.join(map(str, request.seeds))}, "
        f"about {request.expected_seconds():.0f} s of the run's own clock each. Nothing was run.",
        err=True,
    )
    return 0


def _run(request: RunRequest, strict: bool, as_json: bool) -> int:
    with reporter(request.spec.name, sys.stderr if as_json else None) as report:
        ready = ready_lab([request.spec.kernel]) if request.testbed == "virtual" else None
        if ready:
            build_all(request.spec.modules, ready)  # an error in a module is no failed run
        with progress_of(request) as progress:
            folder = carry_out(request, ready, progress, report.judge)
        status = report(folder)
    if as_json:
        print_results([folder])
    if strict:
        require_good_network(folder)
    return status


class _Experiments(click.Group):
    """A command for each experiment of the catalogue, read only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [named.name for named in catalogue()]

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
Seeded = Callable[[int], Callable[[str, float], None]]
"""Gives the callback of the seed at a place, which is told its phase and its clock in seconds."""


@dataclass
class RunProgress:
    """Adds up the clocks of all seeds, and shows them."""

    request: RunRequest
    console: Console
    bar: Progress
    task: TaskID
    passed: dict[int, float] = field(default_factory=dict)
    printed_at: float = field(default_factory=time.monotonic)

    def seeded(self, index: int) -> Callable[[str, float], None]:
        """The callback of one seed."""

        def tell(phase: str, elapsed: float) -> None:
            self.passed[index] = min(elapsed, self.request.expected_seconds())
            clock = f"{elapsed:.0f} s of {self._clock} time, seed {self.request.seeds[index]}"
            completed = sum(self.passed.values())
            self.bar.update(self.task, description=phase, completed=completed, clock=clock)
            self._print_now_and_then()

        return tell

    @property
    def _clock(self) -> str:
        return "virtual" if self.request.testbed == "virtual" else "real"

    def _print_now_and_then(self) -> None:
        """Whoever pipes the output sees that something happens."""
        if self.console.is_terminal or time.monotonic() - self.printed_at < _BETWEEN:
            return
        self.printed_at = time.monotonic()
        self.print_share()

    def print_share(self) -> None:
        """How much of all repetitions is done."""
        count, passed = len(self.request.seeds), sum(self.passed.values())
        share = 100 * passed / (self.request.expected_seconds() * count)
        repetitions = "1 repetition" if count == 1 else f"{count} repetitions"
        line = f"{self.request.spec.name}: {share:.0f} % of {repetitions}"
        self.console.print(line, highlight=False, soft_wrap=True)


@contextmanager
def progress_of(request: RunRequest) -> Iterator[Seeded]:
    """Progress on standard error; a bar goes when the run is over, lines stay."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[clock]}"),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        whole = request.expected_seconds() * len(request.seeds)
        task = bar.add_task(request.spec.name, total=whole, clock="")
        shown = RunProgress(request, console, bar, task)
        if not console.is_terminal and len(request.seeds) > 1:
            shown.print_share()  # what takes minutes says so at once
        yield shown.seeded
