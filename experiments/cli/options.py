"""Options that several commands share, parameters as options, and the document of `--json`."""

import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import Field, fields
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

import testbed
from experiments.run.report import make_page, require_good_points
from experiments.run.request import RunOptions
from experiments.study.catalogue import Experiment
from experiments.study.grid import KERNEL, kind_of, value_of
from topologies.errors import UsageError
from topologies.notation import json_document, json_value, toml_file
from topologies.units import Duration, Quantity

PATH = click.Path(path_type=Path)
FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
Command = TypeVar("Command", bound=Callable[..., Any])


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
    common = {name: words.pop(name) for name in map(_name, _TABLE["run"])}
    first, times, kernel = (common.pop(name) for name in ("seed", "repeat", KERNEL))
    if kernel:
        common["settings"] += (f"{KERNEL}={kernel}",)
    default = ParameterSource.DEFAULT
    typed = {name: words[name] for name in words if context.get_parameter_source(name) != default}
    known = (text.partition("=")[0].strip().replace("-", "_") for text in common["settings"])
    for name in (each.replace("_", "-") for each in known if each in typed):
        raise UsageError(f"{name} is set twice.", f"Leave out --{name} or --set {name}.")
    parameters = named.parameters()(**{**words, **form, **typed})
    seeds = tuple(range(first, first + times)) if times else None
    made = {"parameters": parameters, "typed": typed, "form": form, "first": first}
    return RunOptions(named, seeds=seeds, **made, **common)


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


_TYPES = {"path": PATH, "file": FILE, "folder": FOLDER, "duration": QuantityType(Duration)}
_COMPLETIONS = {"studies": studies, "kernels": kernels}
_TABLE: dict[str, dict[str, Any]] = toml_file(Path(__file__).with_name("options.toml"))


def options(command: str, **changes: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds a command's options; `changes` has more facts of some."""

    def add(function: Command) -> Command:
        rows = list(_TABLE[command])
        # A command takes them in order; decorators of a function come from the last to the first.
        for names in rows if isinstance(function, click.Command) else reversed(rows):
            option(names, command, **changes.get(_name(names), {}))(function)
        return function

    return add


def _name(names: str) -> str:
    return names.split()[-1].partition("/")[0].lstrip("-").replace("-", "_")


def option(names: str, command: str = "shared", **more: Any) -> Callable[[Command], Command]:
    """Return an option of the table, which shows its default if it has one."""
    facts = (_TABLE[command][names] or _TABLE["shared"][names]) | more
    facts = {"show_default": "default" in facts} | facts
    if "choice" in facts:
        facts["type"] = click.Choice(facts.pop("choice"))
    elif "range" in facts:
        ends = facts.pop("range")
        facts["type"] = (click.IntRange if type(ends[0]) is int else click.FloatRange)(*ends)
    elif facts.get("type") in _TYPES:
        facts["type"] = _TYPES[facts["type"]]
    if "complete" in facts:
        facts["shell_complete"] = _COMPLETIONS[facts.pop("complete")]
    return click.option(*names.split(), **facts)


run_or_sweep = click.argument(
    "folder", metavar="RUN|SWEEP", type=PATH, shell_complete=folders_of_runs
)
kernel_option, out_option, json_option = map(option, ("--kernel", "--out", "--json as_json"))
workers_option = option("--workers")


def parameter_options(parameters: type) -> list[click.Parameter]:
    """Return an option for each field: its name, unit, meaning and default."""
    hints = typing.get_type_hints(parameters)
    return [_option(field, hints[field.name]) for field in fields(parameters)]


def link_options(parameters: type) -> list[click.Parameter]:
    """Return the options of a link without an experiment's duration."""
    return [option for option in parameter_options(parameters) if option.name != "duration"]


def _option(field: Field[Any], kind: type) -> click.Option:
    text = f"{field.metadata.get('meaning', '')}  [default: {field.default}]"
    flag = f"--{field.name.replace('_', '-')}"
    given: dict[str, Any] = {"default": field.default, "help": text}
    if issubclass(kind, Quantity):
        return click.Option([flag], type=QuantityType(kind), metavar=kind.__name__.upper(), **given)

    def offered(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
        """Complete the last part of a list such as cubic+reno."""
        before, plus, last = typed.rpartition("+")
        parts = field.metadata.get("parts", ())
        return [f"{before}{plus}{part}" for part in parts if part.startswith(last)]

    return click.Option([flag], metavar="WORD", shell_complete=offered, **given)


_FORMAT = 1
_PAGES = ("report.html", "sweep.html", "reproduction.html")


def print_results(folders: list[Path]) -> None:
    results = []
    for folder in folders:
        manifest = _content(folder / "manifest.json") or {}
        page = next((name for name in _PAGES if (folder / name).exists()), None)
        results.append(
            {
                "kind": manifest.get("kind", "run"),
                "folder": str(folder),
                "page": str(folder / page) if page else None,
                "manifest": {name: value for name, value in manifest.items() if name != "tools"},
                "claim": _content(folder / "claim.json"),
            }
        )
    document = {"format": _FORMAT, "tcplab": testbed.VERSION, "results": results}
    click.echo(json_document(document))


def print_page(kind: str, folder: Path, *, strict: bool, as_json: bool) -> int:
    status = make_page(kind, folder, sys.stderr if as_json else None)
    if as_json:
        print_results([folder])
    if strict:
        require_good_points(json_value((folder / f"{kind}.json").read_text())["network"])
    return status


def _content(file: Path) -> Any:
    return json_value(file.read_text()) if file.exists() else None
