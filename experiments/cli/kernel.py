"""`tcplab kernel` and `tcplab packetdrill`: kernels that hosts can run, and scripts on them."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Column, Table

from experiments.cli.commands import NearGroup
from experiments.cli.options import PATH, kernels, options
from experiments.cli.sweep import carried
from experiments.run.report import make_page
from experiments.run.session import lab_on, ready_lab
from experiments.run.store import require_writable
from experiments.spec import DEFAULT_KERNEL
from testbed.builds import shown
from testbed.lab.commands import build_kernel, built_kernels, remove_kernel
from testbed.lab.kernel import DEFAULT, all_series, kernel_version
from testbed.lab.kernel.choice import chosen
from testbed.lab.packetdrill import packetdrill as packetdrill_program
from testbed.packetdrill import (
    WALL_SECONDS,
    ScriptCase,
    ScriptOutcome,
    ScriptRunner,
    cases_of,
    helpers,
    kernel_files,
    run_kernel_scripts,
)
from testbed.packetdrill.scripts import scripts_in
from topologies.errors import TcplabError, UsageError
from topologies.notation import json_value


@click.group("kernel", cls=NearGroup)
def kernel() -> None:
    """List, build and compare the kernels that hosts can run in virtual time."""


@kernel.command("list")
def list_command() -> None:
    """List the kernels of the lab and those that you have built, without building any."""
    built = built_kernels()
    current = {made.name: made for made in built if made.is_current}
    table = Table("--kernel", "Linux", "Source", "Built", "What it lacks", title="Kernels")
    for series in all_series():
        version, made = kernel_version(series), current.get(series)
        size = f"yes, {made.size / 1e6:.0f} MB" if made else "no"
        table.add_row(series, version.version, version.origin, size, ", ".join(version.lacks))
    console = Console(file=sys.stdout)
    console.print(table)
    name = Column("Name", overflow="fold")  # whole, for it is what `kernel remove` takes
    own = Table(name, "Linux", "Size", "SHA-256", "State", title="Others that are built")
    for made in built:
        if made.name not in all_series():
            state = "usable" if made.is_current else "of another tcplab, or its source has changed"
            size = f"{made.size / 1e6:.0f} MB"
            own.add_row(made.name or "?", made.release, size, made.digest[:12], state)
    if own.rows:
        console.print(own)
    click.echo(
        "A tarball, a tree or FOLDER@REVISION can be named as well, and patches after a plus:"
        f" --kernel {DEFAULT}+mine.patch"
    )


@kernel.command("build")
@click.argument("names", metavar="KERNEL...", nargs=-1, required=True, shell_complete=kernels)
@options("kernel build")
def build_command(names: tuple[str, ...], source: Path | None, rebuild: bool) -> None:
    """Build kernels in advance; runs build missing ones."""
    for name in names:
        with shown(sys.stderr) as report:
            made = build_kernel(chosen(name), report, source, rebuild)
        click.echo(f"{made.name}: Linux {made.release}, SHA-256 {made.digest}")


@kernel.command("verify")
def verify_command() -> None:
    """Build what comes with the code (kernel, init, engine) again, and compare the bytes."""
    from testbed.release import differing

    with shown(sys.stderr) as report:
        files = differing(report)
    for name, others in files.items():
        click.echo(f"{name}: {', '.join(others) or 'no file'} differs.")
    if any(files.values()):
        raise TcplabError(
            "What comes with the code is not what this machine builds.",
            "The manifests in prebuilt/ name the compiler; another gives other bytes.",
        )


@kernel.command("remove")
@click.argument("name", metavar="KERNEL", shell_complete=kernels)
def remove_command(name: str) -> None:
    """Remove a kernel that is built from the cache."""
    with shown(sys.stderr) as report:
        removed = remove_kernel(name, report)
    for made in removed:
        click.echo(f"Removed Linux {made.release} ({made.digest[:12]}).")


DIFFERENT = 3  # the exit status if a difference is shown, which is no failure of the comparison
_LONGEST = 1800.0  # wall seconds of one point


@kernel.command("compare")
@click.argument("old", metavar="KERNEL", shell_complete=kernels)
@click.argument("new", metavar="KERNEL", shell_complete=kernels)
@options("kernel compare")
def compare_command(
    old: str,
    new: str,
    seeds: int,
    names: tuple[str, ...],
    scripts: bool,
    workers: int | None,
    out: Path,
) -> None:
    """Run a standing set of experiments on two kernels and print the differences.

    Exits with 0 without a difference, 3 with one, 1 or 2 after a failure.
    """
    from experiments.sweep.kernels import KernelPair, chosen_cases, comparison_of

    cases = chosen_cases(names)
    kernels = KernelPair(str(chosen(old)), str(chosen(new)))
    require_writable(out)
    program = None
    if scripts and not names:
        try:
            with shown(sys.stderr) as report:
                program = packetdrill_program(report)
        except TcplabError as error:
            click.echo(f"Without the kernels' own scripts: {error}", err=True)
    ready_lab(kernels)
    asked = comparison_of(kernels, cases, range(1, seeds + 1), program)
    more: dict[str, Any] = {"wall_seconds": _LONGEST, "workers": workers, "kernels": kernels}
    folder = carried(asked, [case.spec for case in cases], out, "compare", **more)
    raise SystemExit(make_page("kernels", folder) or _status(folder))


def _status(folder: Path) -> int:
    content = json_value((folder / "comparison.json").read_text())
    if content["failures"]:
        raise TcplabError(
            f"{len(content['failures'])} runs failed or are not proved: {content['failures'][0]}",
            "The page names all.",
        )
    verdicts = {figure["verdict"] for case in content["cases"] for figure in case["figures"]}
    changed = [content["scripts"].get(name) for name in ("only_old", "only_new")]
    return DIFFERENT if verdicts & {"larger", "smaller"} or any(changed) else 0


@kernel.command("test")
@click.argument("name", metavar="[KERNEL]", default=DEFAULT_KERNEL, shell_complete=kernels)
@options("kernel test")
def test_command(name: str, names: tuple[str, ...], workers: int | None, as_json: bool) -> None:
    """Run the packetdrill scripts that come with a kernel's source on it, as its selftests do.

    The exit status is 0 if all have passed, 1 if not.
    """
    lab = lab_on(name)
    cases = cases_of(lab, names)
    with shown(sys.stderr) as report:
        program = packetdrill_program(report)
    coming = run_kernel_scripts(lab, program, cases, workers)
    sys.exit(follow(coming, len(cases), lab.kernel_release, as_json))


@click.command()
@click.argument("places", metavar="SCRIPT|FOLDER...", nargs=-1, type=PATH)
@options("packetdrill", limit={"default": WALL_SECONDS})
def packetdrill(
    places: tuple[Path, ...],
    versions: tuple[str, ...],
    pcap: Path | None,
    kernel: str | None,
    **asked: Any,
) -> None:
    """Run packetdrill scripts, or all *.pkt of a folder, in the lab kernel.

    The exit status is 0 if all have passed, 1 if not.
    """
    tolerance = asked["tolerance_usecs"]
    arguments = [f"--tolerance_usecs={tolerance}"] if tolerance else []
    for definition in asked["definitions"]:
        name, equals, _ = definition.partition("=")
        if not name.isidentifier() or not equals:
            raise UsageError(
                f"--define {definition!r} has no NAME=VALUE.", "Write --define NAME=VALUE."
            )
        arguments += ["-D", definition]
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
    runner = ScriptRunner(lab, program, asked["seed"], wall_seconds=asked["limit"], captures=pcap)
    cases = [
        ScriptCase(script, version, (*([f"--ip_version={version}"] if version else []), *arguments))
        for script in scripts
        for version in versions or ("",)
    ]
    sys.exit(follow(runner.run(cases), len(cases), lab.kernel_release, asked["as_json"]))


def follow(coming: Iterable[ScriptOutcome], number: int, release: str, as_json: bool) -> int:
    """Print outcomes as they come, or all as JSON; return 0 if all have passed, else 1."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress

    outcomes: list[ScriptOutcome] = []
    console = Console(stderr=True)
    columns = ("packetdrill", BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        for outcome in bar.track(coming, number, description=""):
            outcomes.append(outcome)
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
    where = f", line {failure.line}" if failure.line else ""
    first, *others = failure.what.splitlines()
    lines = [f"FAILED  {outcome.case.name}{where}: {first}", *others]
    text = outcome.case.script.line(failure.line) if failure.line else ""
    parts = {"script": text, "expected": failure.expected, "came": failure.came}
    compared = (
        f"{'' if number else name + ':':<9} {line}"
        for name, part in parts.items()
        for number, line in enumerate(part.splitlines())
    )
    return "\n          ".join([*lines, *compared])
