"""All commands of tcplab by name: each is imported when it is typed, so that help comes at once.
`--studies DIR`, studies of one's own for every command, and `--list`, which names all studies.

What they need is imported when they are used: every command line begins here.
"""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import click

import experiments
import testbed
from experiments.harness.cli.defaults import use_defaults
from experiments.harness.cli.messages import one_clear_message
from testbed.host.naming import PREFIX


class CommandPlace(NamedTuple):
    """Where a command is, and the line about it in the list of all."""

    module: str
    name: str
    line: str


PLACES = {
    "run": CommandPlace(
        f"{PREFIX}experiments.harness.cli.run", "experiments", "Run an experiment by name."
    ),
    "play": CommandPlace(
        f"{PREFIX}experiments.harness.cli.play",
        "play",
        "Move a slider and watch real TCP answer: a page on this computer, until Ctrl-C.",
    ),
    "sweep": CommandPlace(
        f"{PREFIX}experiments.harness.cli.sweep",
        "sweep",
        "Run an experiment over a grid and seeds, and say what is really different.",
    ),
    "reproduce": CommandPlace(
        f"{PREFIX}experiments.harness.cli.reproduce",
        "reproduce",
        "Run the published studies and put their numbers beside ours.",
    ),
    "runs": CommandPlace(
        f"{PREFIX}experiments.harness.cli.runs",
        "runs",
        "What has been run: list, show, and forget what nothing can use any more.",
    ),
    "open": CommandPlace(
        f"{PREFIX}experiments.harness.cli.runs",
        "open_index",
        "Show all runs in a browser: search them, and tick those to compare.",
    ),
    "compare": CommandPlace(
        f"{PREFIX}experiments.harness.cli.runs",
        "compare",
        "Put runs, or points of sweeps, beside each other: settings, results, curves.",
    ),
    "verify": CommandPlace(
        f"{PREFIX}experiments.harness.cli.runs",
        "verify",
        "Repeat a run of the lab kernel and compare all that it measured, byte by byte.",
    ),
    "report": CommandPlace(
        f"{PREFIX}experiments.harness.cli.machine",
        "report",
        "Make the report of a finished run again: report runs/sack/latest.",
    ),
    "analyze": CommandPlace(
        f"{PREFIX}analysis.analyze.command",
        "analyze",
        "What TCP did in any capture: analyze trace.pcap; --out FOLDER adds graphs and tables.",
    ),
    "shell": CommandPlace(
        f"{PREFIX}experiments.harness.cli.shell",
        "shell",
        "Build TOPOLOGY and type commands into its hosts: Mininet's own command line, in real"
        " time.",
    ),
    "cc": CommandPlace(
        f"{PREFIX}experiments.harness.cli.cc",
        "cc",
        "Your own congestion control: build it, try it against Reno.",
    ),
    "packetdrill": CommandPlace(
        f"{PREFIX}experiments.harness.cli.packetdrill",
        "packetdrill",
        "Run packetdrill scripts, or all *.pkt of a folder, in the lab kernel and in virtual time.",
    ),
    "lab": CommandPlace(
        f"{PREFIX}labs.cli.lab",
        "lab",
        "Labs: start one, do its runs, check and pack the answers.",
    ),
    "grade": CommandPlace(
        f"{PREFIX}labs.cli.lab",
        "grade",
        "Grade a class's hand-ins: repeat each run, compare, and mark the answers.",
    ),
    "kernel": CommandPlace(
        f"{PREFIX}experiments.harness.cli.kernel",
        "kernel",
        "The kernels that hosts can run in virtual time: versions, or a source of your own.",
    ),
    "image": CommandPlace(
        f"{PREFIX}testbed.lab.ready", "commands", "The lab kernel and the guest's image."
    ),
    "release": CommandPlace(
        f"{PREFIX}experiments.harness.cli.project",
        "release",
        "Make a release of this checkout: a wheel and an archive that need nothing else.",
    ),
    "lock": CommandPlace(
        f"{PREFIX}experiments.harness.cli.project",
        "lock",
        "Renew the locks of Debian's and Python's packages and of crates, and say what changed.",
    ),
    "doctor": CommandPlace(
        f"{PREFIX}experiments.harness.cli.machine",
        "doctor",
        "Say what this machine can do and what is in the way, each with its remedy (--json).",
    ),
    "clean": CommandPlace(
        f"{PREFIX}experiments.harness.cli.machine",
        "clean_up",
        "Undo what killed runs left: exactly what they noted.",
    ),
    "bench": CommandPlace(
        f"{PREFIX}experiments.harness.cli.machine",
        "bench",
        "What runs cost here: virtual seconds per CPU second, CPU microseconds per packet.",
    ),
    "completion": CommandPlace(
        f"{PREFIX}experiments.harness.cli.completion",
        "completion",
        'Print what makes your shell complete commands: eval "$(./tcplab completion bash)".',
    ),
    "man": CommandPlace(
        f"{PREFIX}experiments.harness.cli.project",
        "man",
        "Print the manual page: ./tcplab man | man -l -",
    ),
    "docs": CommandPlace(
        f"{PREFIX}experiments.harness.cli.project",
        "docs",
        "Build the documentation as a site with reference and gallery; a dead link is an error.",
    ),
    "scheduler": CommandPlace(
        f"{PREFIX}experiments.harness.cli.sweep",
        "scheduler",
        "Run a Dask scheduler until Ctrl-C: workers and sweeps meet at tls://127.0.0.1:8786.",
    ),
    "worker": CommandPlace(
        f"{PREFIX}experiments.harness.cli.sweep",
        "worker",
        "Work for the Dask scheduler at tls://HOST:8786 until that ends.",
    ),
    "cluster": CommandPlace(
        f"{PREFIX}experiments.harness.cli.sweep",
        "cluster",
        "What the machines of a cluster share: its certificate.",
    ),
}
"""In the order of the help: what is used most comes first."""
COMPLETE = "_TCPLAB_COMPLETE"
"""The variable by which a shell asks for completions (./tcplab knows it too)."""


class _LazyGroup(click.Group):
    """The commands of PLACES; only the one that is typed is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(PLACES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in PLACES:
            return None
        place = PLACES[cmd_name]
        with one_clear_message():  # a command lists plugins, which may be broken
            found: click.Command = getattr(import_module(place.module), place.name)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that was typed, by that name: it may have another of its own.

        Fails with the nearest name if there is none.
        """
        typed = args[0]
        if typed not in PLACES and not typed.startswith("-"):
            near = get_close_matches(typed, PLACES, 1)
            ctx.fail(f"No such command '{typed}'." + "".join(f" Did you mean '{n}'?" for n in near))
        _, command, rest = super().resolve_command(ctx, args)
        return typed, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, place.line) for name, place in PLACES.items()])


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
    help="A folder with studies of your own, each a file or a folder; may be repeated.",
)


def print_list(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    """Name every experiment with its claim, and end."""
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
    help="Name every experiment with its claim.",
)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(testbed.VERSION, prog_name="tcplab")
@studies_option
@list_option
@click.pass_context
def tcplab(context: click.Context) -> None:
    """TCP experiments on emulated networks: run, repeat, report."""
    use_defaults(context)
