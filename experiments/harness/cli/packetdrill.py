"""`tcplab packetdrill SCRIPT`: packetdrill scripts in the lab kernel, in virtual time."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from experiments.harness.cli.messages import one_clear_message
from experiments.harness.cli.options import with_kernel_option
from experiments.harness.running.lab import lab_on
from testbed.lab.packetdrill.recipe import packetdrill as packetdrill_program
from testbed.packetdrill.runs import (
    WALL_SECONDS,
    ScriptCase,
    ScriptOutcome,
    ScriptRunner,
    helpers,
    kernel_files,
)
from testbed.packetdrill.scripts import Script, ScriptFailure, scripts_in
from testbed.recipes.building import shown
from topologies.foundation.errors import UsageError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_IP_VERSIONS = ("ipv4", "ipv4-mapped-ipv6", "ipv6")


@click.command()
@click.argument("places", metavar="SCRIPT|FOLDER...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--ip-version",
    "versions",
    multiple=True,
    type=click.Choice(_IP_VERSIONS),
    help="IP version; may be repeated for a run under each.  [default: the script's own]",
)
@click.option(
    "--tolerance-usecs",
    type=click.IntRange(1, 10_000_000),
    metavar="NUMBER",
    help="Microseconds by which a packet may come too early or too late.  [default: 4000]",
)
@click.option(
    "-D",
    "--define",
    "definitions",
    multiple=True,
    metavar="NAME=VALUE",
    help="Define a name used in the scripts.",
)
@click.option(
    "--pcap", type=click.Path(path_type=Path), help="Folder for the packets of each script."
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of all randomness."
)
@click.option(
    "--limit",
    type=click.FloatRange(1.0),
    default=WALL_SECONDS,
    show_default=True,
    metavar="SECONDS",
    help="Stop a script that takes longer: it spins.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@with_kernel_option
def packetdrill(
    places: tuple[Path, ...],
    versions: tuple[str, ...],
    tolerance_usecs: int | None,
    definitions: tuple[str, ...],
    pcap: Path | None,
    seed: int,
    limit: float,
    as_json: bool,
    kernel: str | None,
) -> None:
    """Run packetdrill scripts, or all *.pkt of a folder, in the lab kernel.

    The exit status is 0 if all have passed, 1 if not.
    """
    with one_clear_message():
        arguments = (*_tolerance(tolerance_usecs), *_defined(definitions))
        _require(places, pcap)
        lab = lab_on(kernel)
        scripts = scripts_in(places, helpers(kernel_files(lab)))
        with shown(sys.stderr) as report:
            program = packetdrill_program(report)
        if pcap:
            pcap.mkdir(parents=True, exist_ok=True)
        runner = ScriptRunner(lab, program, seed, wall_seconds=limit, captures=pcap)
        cases = list(_cases(scripts, versions, arguments))
        outcomes = followed(runner.run(cases), len(cases), quiet=as_json)
        if as_json:
            click.echo(json.dumps(as_data(outcomes, lab.kernel_release), indent=2))
        else:
            click.echo(summary(outcomes, lab.kernel_release))
    sys.exit(0 if all(outcome.passed for outcome in outcomes) else 1)


def _require(places: tuple[Path, ...], pcap: Path | None) -> None:
    """Raise UsageError without scripts or for a folder --pcap that is not empty."""
    if not places:
        raise UsageError("No script is named.", "Name one, or a folder: ./tcplab packetdrill a.pkt")
    if pcap and pcap.exists() and (not pcap.is_dir() or any(pcap.iterdir())):
        raise UsageError(f"{pcap} is no empty folder.", "Name a new one for --pcap.")


def _tolerance(microseconds: int | None) -> tuple[str, ...]:
    return (f"--tolerance_usecs={microseconds}",) if microseconds else ()


def _defined(definitions: Iterable[str]) -> Iterator[str]:
    for definition in definitions:
        if not definition.partition("=")[0].isidentifier() or "=" not in definition:
            raise UsageError(
                f"--define {definition!r} has no NAME=VALUE.", "Write --define NAME=VALUE."
            )
        yield from ("-D", definition)


def _cases(
    scripts: Iterable[Script], versions: tuple[str, ...], arguments: tuple[str, ...]
) -> Iterator[ScriptCase]:
    for script in scripts:
        if not versions:
            yield ScriptCase(script, "", arguments)
        for version in versions:
            yield ScriptCase(script, version, (f"--ip_version={version}", *arguments))


def followed(coming: Iterable[ScriptOutcome], number: int, quiet: bool) -> list[ScriptOutcome]:
    """Collect all outcomes, printing each as it comes unless `quiet`."""
    outcomes: list[ScriptOutcome] = []
    with _progress(number) as (bar, task):
        for outcome in coming:
            outcomes.append(outcome)
            bar.advance(task)
            if not quiet:
                click.echo(described(outcome))
    return outcomes


@contextmanager
def _progress(number: int) -> Iterator[tuple[Progress, TaskID]]:
    """Show a bar on a terminal, on standard error, until the end."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console = Console(stderr=True)
    columns = (TextColumn("packetdrill"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        yield bar, bar.add_task("", total=number)


def described(outcome: ScriptOutcome) -> str:
    """Describe an outcome in a line; a failure with the script's line and the difference."""
    if outcome.failure is None:
        return f"passed  {outcome.case.name}"
    failure = outcome.failure
    place = f", line {failure.line}" if failure.line else ""
    first, *others = failure.what.splitlines()
    lines = [f"FAILED  {outcome.case.name}{place}: {first}", *others]
    return "\n          ".join([*lines, *_compared(outcome, failure)])


def _compared(outcome: ScriptOutcome, failure: ScriptFailure) -> Iterator[str]:
    text = outcome.case.script.line(failure.line) if failure.line else ""
    parts = {"script": text, "expected": failure.expected, "came": failure.came}
    for name, part in parts.items():
        for number, line in enumerate(part.splitlines()):
            yield f"{'' if number else name + ':':<9} {line}"


def summary(outcomes: list[ScriptOutcome], release: str) -> str:
    """Count the passed scripts and name the kernel."""
    passed = sum(outcome.passed for outcome in outcomes)
    failed = len(outcomes) - passed
    words = f"{failed} failed, {passed} passed" if failed else f"all {passed} passed"
    return f"{words}, on Linux {release} in virtual time."


def as_data(outcomes: list[ScriptOutcome], release: str) -> dict[str, object]:
    passed = sum(outcome.passed for outcome in outcomes)
    return {
        "kernel": release,
        "passed": passed,
        "failed": len(outcomes) - passed,
        "scripts": [outcome.as_data() for outcome in outcomes],
    }
