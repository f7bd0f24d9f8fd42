"""The commands: `tcplab run NAME` and what belongs to it. experiments.cli.main starts them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import click
from rich.console import Console

from experiments.cli.cc_command import cc
from experiments.cli.kernel_command import kernel
from experiments.cli.machine_commands import clean_up, doctor
from experiments.cli.messages import one_clear_message, ready_lab
from experiments.cli.options_of_run import common_options, options_from
from experiments.cli.packetdrill_command import packetdrill
from experiments.cli.parameter_options import parameter_options
from experiments.cli.reproduce_command import reproduce
from experiments.cli.run_progress import progress_of
from experiments.cli.runs_command import runs
from experiments.cli.shell_command import shell
from experiments.cli.studies_option import studies_option
from experiments.cli.sweep_command import run_study, scheduler, sweep, worker
from experiments.cli.verify_command import verify
from experiments.definition.catalogue import Experiment, catalogue, find
from experiments.running.report_process import reporter
from experiments.running.run_options import RunOptions
from experiments.running.session import RunRequest, carry_out, choose
from experiments.running.strictness import require_good_network
from testbed.host.naming import command
from testbed.lab.ready import commands as lab_commands
from testbed.modules.module_build import build_all
from topologies.data import to_data


def command_of(named: Experiment) -> click.Command:
    """The command of one experiment: its parameters are options, each with the unit it takes."""
    listing = click.Option(
        ["--list"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_list,
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
            run = _describe(request) if options.dry_run else _run(request, options.strict)
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


def _run(request: RunRequest, strict: bool) -> int:
    with reporter() as report:
        ready = ready_lab([request.spec.kernel]) if request.testbed == "virtual" else None
        if ready:
            build_all(request.spec.modules, ready)  # an error in a module is no failed run
        with progress_of(request) as progress:
            folder = carry_out(request, ready, progress, report.judge)
        status = report(folder)
    if strict:
        require_good_network(folder)
    return status


def _print_list(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    for named in catalogue():
        click.echo(f"{named.name:<20} {named.claim}")
    context.exit()


class _Experiments(click.Group):
    """A command for each experiment of the catalogue, read only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [named.name for named in catalogue()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        with one_clear_message():
            return command_of(find(cmd_name))


_list_option = click.option(
    "--list",
    is_flag=True,
    expose_value=False,
    callback=_print_list,
    help="Name every experiment with its claim.",
)


@click.group(cls=_Experiments, name="run")
@studies_option
@_list_option
def experiments() -> None:
    """Run an experiment by name."""


@click.group()
@studies_option
@_list_option
def tcplab() -> None:
    """TCP experiments on emulated networks: run, repeat, report."""


tcplab.add_command(experiments)


@tcplab.group(invoke_without_command=True)
@click.option(
    "--times",
    type=click.IntRange(1, 99),
    default=3,
    show_default=True,
    help="Runs of each (median).",
)
@click.pass_context
def bench(context: click.Context, times: int) -> None:
    """What runs cost here: virtual seconds per CPU second, CPU microseconds per packet."""
    if context.invoked_subcommand:
        return
    from experiments.bench import measure, table

    with one_clear_message():
        Console().print(
            table(measure(times, lambda text: click.echo(f"measuring {text}", err=True)))
        )


@bench.command("scale")
@click.option(
    "--quick", is_flag=True, help="Fewer sizes, each once: a quarter of a minute instead of two."
)
def bench_scale(quick: bool) -> None:
    """How cost grows with hosts, flows, rate and duration, and what two guests at once do."""
    from experiments.bench.scale_tables import scale

    with one_clear_message():
        for shown in scale(quick, lambda text: click.echo(f"measuring {text}", err=True)):
            Console().print(shown)


@bench.command("analysis", context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def bench_analysis(arguments: tuple[str, ...]) -> None:
    """What reading a capture costs, ours beside tcptrace and others."""
    os.execv(sys.executable, command("analysis", "bench", *arguments))


@tcplab.command(context_settings={"ignore_unknown_options": True}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def analyze(arguments: tuple[str, ...]) -> None:
    """What TCP did in any capture: analyze trace.pcap; --out FOLDER adds graphs and tables."""
    os.execv(sys.executable, command("analysis", "analyze", *arguments))


@tcplab.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def report(arguments: tuple[str, ...]) -> None:
    """Make the report of a finished run again: report runs/sack/latest."""
    os.execv(sys.executable, command("analysis", "report", *arguments))


tcplab.add_command(lab_commands, "image")
tcplab.add_command(cc)
tcplab.add_command(kernel)
tcplab.add_command(packetdrill)
tcplab.add_command(sweep)
tcplab.add_command(worker)
tcplab.add_command(scheduler)
tcplab.add_command(reproduce)
tcplab.add_command(runs)
tcplab.add_command(verify)
tcplab.add_command(doctor)
tcplab.add_command(clean_up)
tcplab.add_command(shell)
