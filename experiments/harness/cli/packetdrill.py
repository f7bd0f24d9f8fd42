"""`tcplab packetdrill SCRIPT`: packetdrill scripts in the lab kernel, in virtual time."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
from rich.console import Console

from experiments.harness.cli.options import PATH, kernel_option
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
from testbed.packetdrill.scripts import scripts_in
from testbed.recipes.building import shown
from topologies.foundation.errors import UsageError

_IP_VERSIONS = ("ipv4", "ipv4-mapped-ipv6", "ipv6")


@click.command()
@click.argument("places", metavar="SCRIPT|FOLDER...", nargs=-1, type=PATH)
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
@click.option("--pcap", type=PATH, help="Folder for the packets of each script.")
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
@kernel_option
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
    tolerance = [f"--tolerance_usecs={tolerance_usecs}"] if tolerance_usecs else []
    arguments = (*tolerance, *_defined(definitions))
    if not places:
        raise UsageError("No script is named.", "Name one, or a folder: ./tcplab packetdrill a.pkt")
    if pcap and pcap.exists() and (not pcap.is_dir() or any(pcap.iterdir())):
        raise UsageError(f"{pcap} is no empty folder.", "Name a new one for --pcap.")
    scripts_in(places, {})  # a misspelt name ends here, before a build
    lab = lab_on(kernel)
    scripts = scripts_in(places, helpers(kernel_files(lab)))
    with shown(sys.stderr) as report:
        program = packetdrill_program(report)
    if pcap:
        pcap.mkdir(parents=True, exist_ok=True)
    runner = ScriptRunner(lab, program, seed, wall_seconds=limit, captures=pcap)
    cases = [
        ScriptCase(script, version, (*([f"--ip_version={version}"] if version else []), *arguments))
        for script in scripts
        for version in versions or ("",)
    ]
    sys.exit(follow(runner.run(cases), len(cases), lab.kernel_release, as_json))


def _defined(definitions: Iterable[str]) -> Iterator[str]:
    for definition in definitions:
        if not definition.partition("=")[0].isidentifier() or "=" not in definition:
            raise UsageError(
                f"--define {definition!r} has no NAME=VALUE.", "Write --define NAME=VALUE."
            )
        yield from ("-D", definition)


def follow(coming: Iterable[ScriptOutcome], number: int, release: str, as_json: bool) -> int:
    """Print outcomes as they come, or all as JSON; return 0 if all have passed, else 1."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    outcomes: list[ScriptOutcome] = []
    console = Console(stderr=True)
    columns = (TextColumn("packetdrill"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=number)
        for outcome in coming:
            outcomes.append(outcome)
            bar.advance(task)
            if not as_json:
                click.echo(described(outcome))
    passed = sum(outcome.passed for outcome in outcomes)
    failed = len(outcomes) - passed
    if as_json:
        scripts = [outcome.as_data() for outcome in outcomes]
        counts = {"kernel": release, "passed": passed, "failed": failed}
        click.echo(json.dumps(counts | {"scripts": scripts}, indent=2))
    else:
        words = f"{failed} failed, {passed} passed" if failed else f"all {passed} passed"
        click.echo(f"{words}, on Linux {release} in virtual time.")
    return 1 if failed else 0


def described(outcome: ScriptOutcome) -> str:
    """Describe an outcome in a line; a failure with the script's line and the difference."""
    failure = outcome.failure
    if failure is None:
        return f"passed  {outcome.case.name}"
    place = f", line {failure.line}" if failure.line else ""
    first, *others = failure.what.splitlines()
    lines = [f"FAILED  {outcome.case.name}{place}: {first}", *others]
    text = outcome.case.script.line(failure.line) if failure.line else ""
    parts = {"script": text, "expected": failure.expected, "came": failure.came}
    compared = (
        f"{'' if number else name + ':':<9} {line}"
        for name, part in parts.items()
        for number, line in enumerate(part.splitlines())
    )
    return "\n          ".join([*lines, *compared])
