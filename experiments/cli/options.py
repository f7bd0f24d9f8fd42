"""Options that several commands share, parameters as options, and the document of `--json`."""

import dataclasses
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

import testbed
from experiments.run.report import STRICT, make_page, require_good_points
from experiments.run.request import TESTBEDS, RunOptions
from experiments.study.catalogue import Experiment
from experiments.study.grid import KERNEL, kind_of, value_of
from topologies.errors import UsageError
from topologies.notation import json_document, json_value
from topologies.units import Duration, Quantity

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
Command = TypeVar("Command", bound=Callable[..., Any])


def option(
    names: str, text: str = "", kind: Any = None, **more: Any
) -> Callable[[Command], Command]:
    """Return an option of space-separated names, which shows its default if it has one."""
    shown = {"show_default": "default" in more} | more
    return click.option(*names.split(), help=text or None, type=kind, **shown)


def studies(_context: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
    from experiments.study.catalogue import catalogue

    return [
        CompletionItem(named.name, help=named.claim)
        for named in catalogue()
        if named.name.startswith(typed)
    ]


def folders_of_runs(
    context: click.Context, _param: click.Parameter, typed: str
) -> list[CompletionItem]:
    """Finished runs in the folder that --out names, newest first."""
    out = Path(context.params.get("out") or "runs")
    places = sorted({file.parent for file in out.glob("*/*/manifest.json")}, reverse=True)
    return [CompletionItem(str(place)) for place in places if str(place).startswith(typed)]


def kernels(_context: click.Context, _param: click.Parameter, typed: str) -> list[CompletionItem]:
    from testbed.lab.kernel import all_series

    return [CompletionItem(name) for name in all_series() if name.startswith(typed)]


def options_from(context: click.Context, named: Experiment) -> RunOptions:
    """Return the options of an experiment's command as click parsed them. Raises UsageError."""
    words = dict(context.params)
    forms = [form for form in ("quick", "full") if words.pop(form, False)]
    if len(forms) > 1:
        raise UsageError("--quick and --full exclude each other.", "Choose one.")
    preset = named.preset(forms[0]) if forms else {}
    form = {name: value_of(name, kind_of(named, name), text) for name, text in preset.items()}
    first, times = words.pop("seed"), words.pop("repeat")
    common = {name: words.pop(name) for name in _COMMON}
    if kernel := words.pop(KERNEL):
        common["settings"] += (f"{KERNEL}={kernel}",)
    typed = {
        name: value
        for name, value in words.items()
        if context.get_parameter_source(name) != ParameterSource.DEFAULT
    }
    for name in typed:
        if any(
            text.partition("=")[0].strip().replace("-", "_") == name for text in common["settings"]
        ):
            option = name.replace("_", "-")
            raise UsageError(f"{option} is set twice.", f"Leave out --{option} or --set {option}.")
    parameters = named.parameters()(**{**words, **form, **typed})
    seeds = tuple(range(first, first + times)) if times else None
    made = {"parameters": parameters, "typed": typed, "form": form, "first": first}
    return RunOptions(named, seeds=seeds, **made, **common)


_COMMON = (
    *("settings", "testbed", "out", "limit", "metrics"),
    *("load_modules", "dry_run", "strict", "as_json"),
)


kernel_option = click.option(
    f"--{KERNEL}",
    metavar="KERNEL",
    help=(
        "Linux of the hosts, in virtual time: a version such as 6.12, a tarball, a tree or"
        " CLONE@REVISION, each with +PATCH; `tcplab kernel list` lists versions."
    ),
    shell_complete=kernels,
)
out_option = option("--out", "Folder that keeps the runs.", FOLDER, default=Path("runs"))
run_or_sweep = click.argument(
    "folder", metavar="RUN|SWEEP", type=PATH, shell_complete=folders_of_runs
)
strict_option = option("--strict", STRICT, is_flag=True)
json_option = option(
    "--json as_json",
    "Print one JSON document of the result; other text goes to standard error.",
    is_flag=True,
)


known_option = option(
    "--known",
    "Take the finished points of this folder too, such as runs of another machine; may be"
    " repeated.",
    FOLDER,
    multiple=True,
)
workers_option = option(
    "--workers",
    "Maximum number of guests to run in parallel.  [default: one for each processor]",
    click.IntRange(1, 10_000),
    metavar="NUMBER",
)


def testbed_option(default: str = "virtual") -> Callable[[Command], Command]:
    return option(
        "--testbed",
        "Lab kernel in virtual time, or this kernel in real time (native, as root); auto is"
        " native where that is possible.",
        click.Choice(TESTBEDS),
        default=default,
    )


def add_common_options(command: click.Command, named: Experiment, testbed: str) -> None:
    for each in (
        testbed_option(testbed),
        kernel_option,
        option(
            "--seed",
            "Seed of all randomness; the same seed gives the same packets (virtual).",
            click.IntRange(0, 2**63 - 1),
            default=1,
            metavar="NUMBER",
        ),
        option(
            "--repeat",
            "Run that many times, with seeds counted up.  [default: as often as the"
            " experiment's claim needs; once in real time]",
            click.IntRange(1, 1000),
            metavar="TIMES",
        ),
        option(
            "--set settings",
            "Set a parameter, a field of the spec (topology.links.1.rightward.queue) or a sysctl.",
            multiple=True,
            metavar="NAME=VALUE",
        ),
        option(
            "--metric metrics",
            "Show a metric or an expression such as 'p95 delay[flow1]' in the report.",
            multiple=True,
            metavar="METRIC",
        ),
        out_option,
        option(
            "--limit",
            "Stop a run after that much wall time  [default: 10min, natively more]",
            QuantityType(Duration),
            metavar="DURATION",
        ),
        option(
            "--load-module-into-this-kernel load_modules",
            "Natively: make the module part of this computer's kernel, which its mistakes crash.",
            is_flag=True,
            hidden=not named.loads_modules(),
        ),
        strict_option,
        option("--dry-run", "Print the spec without running it.", is_flag=True),
        json_option,
    ):
        each(command)


class QuantityType(click.ParamType[Quantity]):
    """A quantity as a command-line value."""

    def __init__(self, kind: type[Quantity]) -> None:
        self.kind = kind
        self.name = kind.example

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Quantity:
        if isinstance(value, Quantity):
            return value
        try:
            return self.kind.parse(str(value))
        except UsageError as error:
            self.fail(str(error), param, ctx)


def parameter_options(parameters: type) -> list[click.Parameter]:
    """Return an option for each field: its name, unit, meaning and default."""
    hints = typing.get_type_hints(parameters)
    return [_option(field, hints[field.name]) for field in dataclasses.fields(parameters)]


def link_options(parameters: type) -> list[click.Parameter]:
    """Return the options of a link without an experiment's duration."""
    return [option for option in parameter_options(parameters) if option.name != "duration"]


def _option(field: dataclasses.Field[Any], kind: type) -> click.Option:
    text = f"{field.metadata.get('meaning', '')}  [default: {field.default}]"
    flag = f"--{field.name.replace('_', '-')}"
    if issubclass(kind, Quantity):
        return click.Option(
            [flag],
            type=QuantityType(kind),
            default=field.default,
            metavar=kind.__name__.upper(),
            help=text,
        )

    def offered(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
        """Complete the last part of a list such as cubic+reno."""
        before, plus, last = typed.rpartition("+")
        parts = field.metadata.get("parts", ())
        return [f"{before}{plus}{part}" for part in parts if part.startswith(last)]

    return click.Option(
        [flag], default=field.default, metavar="WORD", help=text, shell_complete=offered
    )


_FORMAT = 1
_PAGES = ("report.html", "sweep.html", "reproduction.html")


def print_results(folders: list[Path]) -> None:
    results = [_result(folder) for folder in folders]
    document = {"format": _FORMAT, "tcplab": testbed.VERSION, "results": results}
    click.echo(json_document(document))


def print_page(kind: str, folder: Path, *, strict: bool, as_json: bool) -> int:
    status = make_page(kind, folder, sys.stderr if as_json else None)
    if as_json:
        print_results([folder])
    if strict:
        require_good_points(json_value((folder / f"{kind}.json").read_text())["network"])
    return status


def _result(folder: Path) -> dict[str, Any]:
    manifest = _content(folder / "manifest.json") or {}
    page = next((name for name in _PAGES if (folder / name).exists()), None)
    return {
        "kind": manifest.get("kind", "run"),
        "folder": str(folder),
        "page": str(folder / page) if page else None,
        "manifest": {name: value for name, value in manifest.items() if name != "tools"},
        "claim": _content(folder / "claim.json"),
    }


def _content(file: Path) -> Any:
    return json_value(file.read_text()) if file.exists() else None
