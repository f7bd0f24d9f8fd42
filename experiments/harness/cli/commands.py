"""All commands of tcplab: each is imported when it is typed, so that help comes at once."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import click

import experiments
import testbed
from experiments.harness.cli.defaults import use_defaults
from experiments.harness.cli.messages import ClearGroup, one_clear_message
from testbed.host.naming import PREFIX

_CLI = f"{PREFIX}experiments.harness.cli"


class Command(NamedTuple):
    """A command: its line in the list of all, and its place, by default a module of its name."""

    name: str
    line: str
    place: str = ""

    def load(self) -> click.Command:
        """Import the command."""
        module, _, name = (self.place or f"{_CLI}.{self.name}:{self.name}").partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command


GROUPS: dict[str, tuple[Command, ...]] = {
    "Run": (
        Command("run", "Run an experiment by name.", f"{_CLI}.run:experiments"),
        Command("sweep", "Run an experiment over a grid and seeds, and compare the results."),
        Command("reproduce", "Run the published studies and compare their numbers with new runs."),
        Command("play", "Change a link with sliders and watch TCP: a live page on this computer."),
        Command("shell", "Build TOPOLOGY and open Mininet's command line in it, in real time."),
    ),
    "Look": (
        Command("runs", "List, show and prune stored runs."),
        Command(
            "open",
            "Show all runs in a browser, to search and compare them.",
            f"{_CLI}.runs:open_index",
        ),
        Command(
            "report",
            "Write the report of a finished run again: report runs/sack/latest.",
            f"{_CLI}.machine:report",
        ),
        Command(
            "analyze",
            "Show what TCP did in a capture; --out FOLDER adds graphs and tables.",
            f"{PREFIX}analysis.analyze.command:analyze",
        ),
        Command(
            "compare",
            "Compare runs, or points of sweeps: settings, results, curves.",
            f"{_CLI}.runs:compare",
        ),
        Command(
            "verify",
            "Repeat a run of the lab kernel and compare all measured files byte by byte.",
            f"{_CLI}.runs:verify",
        ),
    ),
    "Teach": (
        Command(
            "lab",
            "Start a lab, do its runs, check and pack the answers.",
            f"{PREFIX}labs.cli.lab:lab",
        ),
        Command(
            "grade",
            "Grade a class's hand-ins: repeat each run, compare, and mark the answers.",
            f"{PREFIX}labs.cli.lab:grade",
        ),
    ),
    "Kernels": (
        Command(
            "kernel", "List, build and compare the kernels that hosts can run in virtual time."
        ),
        Command(
            "cc", "Build your congestion control and compare it with Reno, never in this kernel."
        ),
        Command(
            "packetdrill", "Run packetdrill scripts, or all *.pkt of a folder, in the lab kernel."
        ),
    ),
    "Machine": (
        Command(
            "doctor",
            "Check this machine and print how to fix each problem (--json).",
            f"{_CLI}.machine:doctor",
        ),
        Command(
            "clean",
            "Remove what killed runs left behind, as they noted it.",
            f"{_CLI}.machine:clean_up",
        ),
        Command(
            "image", "The lab kernel and the guest's image.", f"{PREFIX}testbed.lab.ready:commands"
        ),
    ),
    "Rare": (
        Command(
            "scheduler",
            "Run a Dask scheduler until Ctrl-C, for workers and sweeps of several machines.",
            f"{_CLI}.sweep:scheduler",
        ),
        Command(
            "worker",
            "Work for the Dask scheduler at tls://HOST:8786 until it ends.",
            f"{_CLI}.sweep:worker",
        ),
        Command(
            "cluster",
            "Make the certificate that the machines of a cluster share.",
            f"{_CLI}.sweep:cluster",
        ),
        Command(
            "completion",
            'Print the code that completes commands: eval "$(./tcplab completion bash)".',
        ),
        Command("man", "Print the manual page: ./tcplab man | man -l -", f"{_CLI}.project:man"),
        Command(
            "docs",
            "Build the documentation site with reference and gallery; a dead link is an error.",
            f"{_CLI}.project:docs",
        ),
        Command(
            "release",
            "Make a self-contained release of this checkout: a wheel and an archive.",
            f"{_CLI}.project:release",
        ),
        Command(
            "lock",
            "Renew the locks of Debian's and Python's packages and of crates, and list changes.",
            f"{_CLI}.project:lock",
        ),
    ),
}
"""All commands in the order of the help."""
PLACES = {command.name: command for group in GROUPS.values() for command in group}
COMPLETE = "_TCPLAB_COMPLETE"
"""The variable by which a shell asks for completions (./tcplab knows it too)."""


class _LazyGroup(ClearGroup):
    """The commands of GROUPS; only the one that is typed is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(PLACES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in PLACES:
            return None
        with one_clear_message():  # a command lists plugins, which may be broken
            return PLACES[cmd_name].load()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the typed command under that name. Fails with the nearest name without one."""
        typed = args[0]
        if typed not in PLACES and not typed.startswith("-"):
            near = get_close_matches(typed, PLACES, 1)
            ctx.fail(f"No such command '{typed}'." + "".join(f" Did you mean '{n}'?" for n in near))
        _, command, rest = super().resolve_command(ctx, args)
        return typed, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl([(command.name, command.line) for command in commands])


def _add(context: click.Context, _option: click.Parameter, folders: tuple[Path, ...]) -> None:
    if context.resilient_parsing or not folders:
        return
    from experiments.harness.definition.catalogue import add_studies

    with one_clear_message():
        add_studies(folders)


studies_option = click.option(
    "--studies",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    envvar=experiments.STUDIES,
    show_envvar=True,
    is_eager=True,
    expose_value=False,
    callback=_add,
    help="Folder with your studies, each a file or a folder; may be repeated.",
)


def print_list(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Print every experiment with its claim, and exit."""
    if not wanted or context.resilient_parsing:
        return
    from experiments.harness.definition.catalogue import catalogue

    with one_clear_message():
        for named in catalogue():
            click.echo(f"{named.name:<20} {named.claim}")
    context.exit()


list_option = click.option(
    "--list",
    is_flag=True,
    expose_value=False,
    callback=print_list,
    help="List all experiments with their claims.",
)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(testbed.VERSION, prog_name="tcplab")
@studies_option
@list_option
@click.pass_context
def tcplab(context: click.Context) -> None:
    """TCP experiments on emulated networks: run, repeat, report."""
    use_defaults(context)
