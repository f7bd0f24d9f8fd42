"""`python -m analysis compare`: what agrees with tcptrace and the kernel, and what does not."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import click
from rich.console import Console
from rich.table import Column, Table

from analysis.agreement.comparing import CaptureComparison
from analysis.agreement.comparing import compare as compare_capture
from analysis.agreement.kernel_counts import Truth, truths
from analysis.flows.installed_engines import Engine
from analysis.records.problems import Problems
from analysis.records.run_directory import read_run
from topologies.foundation.errors import TcplabError


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--engine", type=click.Choice(["auto", "compiled", "plain"]), default="auto", show_default=True
)
@click.option("--differing", is_flag=True, help="Leave out the fields that all print the same.")
def compare(path: Path, engine: Engine, differing: bool) -> None:
    """Compare our columns with tcptrace's for PATH, a capture or a run directory.

    Those of a run directory are compared with its kernel's counts too.

    Ends with 1 where a field that should agree does not.
    """
    try:
        sys.exit(_compare(path, engine, differing))
    except TcplabError as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(error.exit_code)


def _compare(path: Path, engine: Engine, differing: bool) -> int:
    problems, console = Problems(), Console()
    run = read_run(path, problems) if path.is_dir() else None
    counts = truths(run, problems, engine) if run else ()
    captures = (
        sorted(file for trial in run.trials for file in trial.folder.glob("*.pcap"))
        if run
        else [path]
    )
    comparisons = [compare_capture(capture, engine) for capture in captures]
    _print_disagreements(console, comparisons)
    if run:
        _print_truths(console, counts)
    for comparison in comparisons:
        _print_fields(console, comparison, differing)
    for comparison in comparisons:
        if comparison.fault:
            problems.add(
                f"{_name(comparison)} is damaged: {comparison.fault}. What precedes it is compared."
            )
    for sentence in problems.found:
        console.print(f"warning: {sentence}", markup=False)
    return (
        0 if all(one.sound for one in comparisons) and all(truth.agrees for truth in counts) else 1
    )


def _name(comparison: CaptureComparison) -> str:
    return f"{comparison.capture.parent.name}/{comparison.capture.name}"


def _table(title: str, rows: Iterable[Iterable[object]], *names: str) -> Table:
    table = Table(
        *(Column(name, overflow="fold") for name in names), title=title, title_justify="left"
    )
    for row in rows:
        table.add_row(*map(str, row))
    return table


def _print_disagreements(console: Console, comparisons: list[CaptureComparison]) -> None:
    faults = [
        (
            _name(comparison),
            field.connection,
            f"{field.name} {field.way}",
            field.theirs,
            field.compatible,
            field.ours,
            field.policy.kind,
            "; ".join(field.faults),
        )
        for comparison in comparisons
        for field in comparison.disagreements
    ]
    strangers = [sentence for comparison in comparisons for sentence in comparison.strangers]
    for sentence in strangers:
        console.print(f"Disagreement: {sentence}.", markup=False)
    names = (
        "capture",
        "no.",
        "field",
        "tcptrace",
        "compatible",
        "ours",
        "policy",
        "disagrees because",
    )
    if faults:
        console.print(_table(f"{len(faults)} disagreements", faults, *names))
    elif not strangers:
        fields = sum(len(comparison.fields) for comparison in comparisons)
        console.print(
            f"No disagreement in {fields} fields of {len(comparisons)}"
            f" capture{'s' * (len(comparisons) != 1)}."
        )


def _print_truths(console: Console, counts: Iterable[Truth]) -> None:
    rows = [
        (
            truth.trial,
            truth.name,
            truth.source,
            f"{truth.counted:,.0f}",
            f"{truth.shown:,.0f}",
            "yes" if truth.agrees else "NO",
            truth.policy.kind,
        )
        for truth in counts
    ]
    names = ("trial", "figure", "counted by", "counted", "captures", "agrees", "policy")
    console.print(_table("What the kernel and the tools counted", rows, *names))


def _print_fields(console: Console, comparison: CaptureComparison, differing: bool) -> None:
    shown = [field for field in comparison.fields if not (differing and field.same)]
    rows = [
        (
            field.connection,
            f"{field.name} {field.way}",
            field.theirs,
            field.compatible,
            field.ours,
            field.policy.kind,
            field.policy.why,
        )
        for field in shown
    ]
    same = len(comparison.fields) - len(shown)
    title = f"{_name(comparison)}: {len(shown)} fields" + (
        f"; {same} more are printed the same" if same else ""
    )
    if not rows:
        console.print(title, markup=False)
        return
    console.print(
        _table(title, rows, "no.", "field", "tcptrace", "compatible", "ours", "policy", "why")
    )
