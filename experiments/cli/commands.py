"""All commands of tcplab, imported when they are typed; their errors as one message.

Defaults of options are in ~/.config/tcplab/defaults.toml: [run] holds for all, [run.sack] for one.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import click

import experiments
import testbed
from experiments.cli.lines import ABOUT, GROUPS, LINES
from testbed.host import PREFIX
from testbed.host.packages import YES
from topologies.errors import TcplabError
from topologies.notation import toml_file


def defaults_file() -> Path:
    """Return the path of the file by the XDG Base Directory Specification; it need not exist."""
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(settings, "tcplab/defaults.toml")


def use_defaults(context: click.Context) -> None:
    """Set the typed command's defaults from the file. Fails if it cannot be read or is wrong."""
    name = context.invoked_subcommand
    if name is None or context.resilient_parsing:
        return
    outer = context.default_map if context.parent else _content(context)
    if not outer:
        return  # without defaults the command need not be made twice
    command = context.command.get_command(context, name)  # type: ignore[attr-defined]
    context.default_map = {name: _defaults(command, name, outer, context)}


def _defaults(
    command: click.Command, name: str, outer: Mapping[str, Any], context: click.Context
) -> dict[str, Any]:
    common = {key: value for key, value in outer.items() if not isinstance(value, dict)}
    own: dict[str, Any] = outer.get(name, {})
    if isinstance(command, click.Group):
        inner = {
            sub: _defaults(part, sub, common | own, context)
            for sub, part in command.commands.items()
        }
        return common | own | inner
    typed = {
        word.lstrip("-").replace("-", "_"): param.name
        for param in command.params
        for word in param.opts
        if param.name
    }
    names = typed | {name: name for name in typed.values()}
    for key in sorted(own.keys() - names.keys()):
        near = get_close_matches(key, names, 1)
        hint = f" Did you mean '{near[0]}'?" if near else ""
        context.fail(f"{defaults_file()} has '{key}' for {name}, which has no such option.{hint}")
    return {names[key]: value for key, value in (common | own).items() if key in names}


def _content(context: click.Context) -> dict[str, Any]:
    file = defaults_file()
    if not file.is_file():
        return {}
    try:
        content = toml_file(file)
    except (OSError, ValueError) as error:
        context.fail(f"{file} cannot be read: {error}. Fix or remove it.")
    for key in (key for key, value in content.items() if not isinstance(value, dict)):
        context.fail(f"{file} has '{key}' outside of a table: put it below [run], for example.")
    expanded: dict[str, Any] = _expanded(content)
    return expanded


def _expanded(value: Any) -> Any:
    """Expand ~ in values as a shell does, and replace `-` in names by `_`."""
    if isinstance(value, dict):
        return {key.replace("-", "_"): _expanded(part) for key, part in value.items()}
    return os.path.expanduser(value) if isinstance(value, str) else value


Decorator = Callable[[Callable[..., None]], Callable[..., None]]
_CLI = f"{PREFIX}experiments.cli"

_MODULES = {
    f"{_CLI}.kernel": ("packetdrill",),
    f"{_CLI}.machine": (
        *("report", "completion", "doctor", "clean", "bench"),
        *("docs", "lock", "man", "release"),
    ),
    f"{_CLI}.repeat": ("reproduce", "verify"),
    f"{_CLI}.runs": ("bundle", "compare", "figure", "open"),
    f"{PREFIX}analysis.analyze.command": ("analyze",),
    f"{PREFIX}labs.commands": ("grade", "lab"),
    f"{PREFIX}testbed.lab.commands": ("image",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}
"""Modules of commands that are not in a module of their name."""


def load(name: str) -> click.Command:
    content = vars(import_module(_PLACES.get(name, f"{_CLI}.{name}"))).values()
    return next(each for each in content if isinstance(each, click.Command) and each.name == name)


_LONGEST = 200  # characters of a command's line
COMPLETE = "_TCPLAB_COMPLETE"
"""The variable by which a shell asks for completions (./tcplab knows it too)."""


_KEEP = {"grade", "kernel", "lab", "reproduce", "run", "sweep"}
"""Commands whose finished repetitions stay when they are stopped."""


@contextmanager
def one_clear_message(command: Callable[[], str | None] = lambda: None) -> Iterator[None]:
    """Print an error of tcplab or of a file and exit; a bug keeps its traceback."""
    try:
        yield
    except TcplabError as error:
        _end(f"Error: {error}", error.exit_code)
    except BrokenPipeError:  # click ends without a word
        raise
    except OSError as error:  # where the file is written knows no remedy
        where = f": {error.filename}" if error.filename else ""
        remedy = " Name another path, or change this one." if where else ""
        _end(f"Error: {error.strerror or error}{where}.{remedy}")
    except MemoryError:
        remedy = "End other programs, or raise the limit (ulimit -v) in the shell."
        _end(f"Error: there is not enough memory. {remedy}")
    except KeyboardInterrupt:
        kept = " Finished repetitions and points are kept." if command() in _KEEP else ""
        _end(f"Stopped.{kept}", 130)


def _end(text: str, status: int = 1) -> NoReturn:
    click.echo(text, err=True)
    raise SystemExit(status) from None


class NearGroup(click.Group):
    """A group that lists its commands' whole lines, and names the nearest of a misspelt one."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        lines = [(name, each.get_short_help_str(_LONGEST)) for name, each in commands if each]
        with formatter.section("Commands"):
            formatter.write_dl(lines)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the typed command under that name. Fails with the nearest name without one."""
        typed, names = args[0], self.list_commands(ctx)
        if typed not in names and not typed.startswith("-"):
            near = get_close_matches(typed, names, 1)
            meant = f"Did you mean '{near[0]}'?" if near else f"There are {', '.join(names)}."
            ctx.fail(f"No such command '{typed}'. {meant}")
        _, command, rest = super().resolve_command(ctx, args)
        return typed, command, rest


class ClearGroup(NearGroup):
    """A group whose commands end with one clear message."""

    def invoke(self, ctx: click.Context) -> Any:
        with one_clear_message(lambda: ctx.invoked_subcommand):
            return super().invoke(ctx)


class _LazyGroup(ClearGroup):
    """The commands of GROUPS; only the one that is typed is imported."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(LINES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in LINES:
            return None
        with one_clear_message():  # a command lists plugins, which may be broken
            return load(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group, commands in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl(list(commands.items()))


def _add(context: click.Context, option: click.Parameter, folders: tuple[Path, ...]) -> None:
    if option.name == "labs" and folders:  # for the package of labs, which commands import later
        os.environ["TCPLAB_LABS"] = os.pathsep.join(map(os.path.abspath, folders))
    if context.resilient_parsing or not folders:
        return
    from experiments.study.catalogue import add_studies

    with one_clear_message():
        add_studies(folders)


def _eager(name: str, text: str, **more: Any) -> Decorator:
    return click.option(f"--{name}", is_eager=True, expose_value=False, help=text, **more)


_FOLDERS: dict[str, Any] = {
    "multiple": True,
    "type": click.Path(path_type=Path),
    "metavar": "DIR",
    "show_envvar": True,
    "callback": _add,
}
labs_option = _eager(
    "labs",
    "Folder with your labs, each a folder, and their studies; may be repeated.",
    envvar="TCPLAB_LABS",
    **_FOLDERS,
)
studies_option = _eager(
    "studies",
    "Folder with your studies, each a file or a folder; may be repeated.",
    envvar=experiments.STUDIES,
    **_FOLDERS,
)


def print_list(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if not wanted or context.resilient_parsing:
        return
    from experiments.study.catalogue import catalogue

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


yes_option = _eager(
    "yes",
    "Install missing packages without a question; before the command.",
    is_flag=True,
    callback=lambda _context, _option, given: os.environ.update({YES: "1"} if given else {}),
)


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]}, help=ABOUT)
@click.version_option(testbed.VERSION, prog_name="tcplab")
@labs_option
@studies_option
@list_option
@yes_option
@click.pass_context
def tcplab(context: click.Context) -> None:
    use_defaults(context)
