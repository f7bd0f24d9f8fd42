"""Commands about this machine and checkout, and `tcplab report`."""

import os
import resource
import shlex
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import click
from click.shell_completion import get_completion_class
from rich.console import Console
from rich.table import Column, Table
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from experiments.cli import main
from experiments.cli.commands import COMPLETE, tcplab
from experiments.cli.options import folders_of_runs, options
from experiments.documentation.pictures import PROGRAM, gallery_page, made, pictures
from experiments.documentation.reference import manual, reference
from experiments.documentation.site import build
from experiments.reporting.browsing import HOST, LocalServer
from experiments.run.report import program
from experiments.run.session import ready_lab
from experiments.run.store import require_writable
from testbed.builds import shown
from testbed.doctor import __main__ as examination
from testbed.host import command
from testbed.host.processes import ProcessUsage, taken_by
from testbed.native import changes
from topologies.errors import CommandError
from topologies.notation import json_value

_KINDS = {"sweep.json": "sweep", "reproduction.json": "reproduction", "comparison.json": "kernels"}
"""Files of results that are no run, and the commands that make their pages."""


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, shell_complete=folders_of_runs)
@click.pass_context
def report(context: click.Context, arguments: tuple[str, ...]) -> None:
    """Write the report of a finished run again: report runs/sack/latest."""
    folder = Path(next((word for word in arguments if not word.startswith("-")), ""))
    kind = next((kind for name, kind in _KINDS.items() if (folder / name).is_file()), "report")
    # the program's help calls it as it was typed here
    typed = os.environ | {"TCPLAB_COMMAND": context.command_path}
    os.execve(sys.executable, program(kind, *arguments), typed)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the code that completes commands: eval "$(./tcplab completion bash)"."""
    kind = get_completion_class(shell)
    assert kind is not None  # click has all three
    click.echo(kind(tcplab, {}, "tcplab", COMPLETE).source())


CASES = (
    "run playground --bw 10mbit --duration 20s",
    "run playground --bw 100mbit --duration 20s",
    "run playground --bw 1gbit --delay 5ms --duration 10s",
    "run cubic_vs_reno --cc cubic --streams 100 --duration 10s",
    "run fair_shares --streams 10 --duration 20s",
    "run fair_shares --streams 50 --duration 20s",
    "sweep slow_start --set delay=10ms,20ms --seeds 10",
    "sweep slow_start --set delay=10ms,20ms --seeds 150",
)
"""Words of commands: more packets, flows, hosts, points."""
_ONCE = {"run": ("--repeat", "1")}
_HEAD = ("Command", "Packets", "Flows", "Hosts", "Points", "CPU (s)", "MB")
_LOOK = 0.05  # seconds between two looks at the memory


def _cells(counts: tuple[int, int, int, int], seconds: float, memory: int) -> tuple[str, ...]:
    """Return the cells of a case; `memory` is that of its largest process, in bytes."""
    shown = (f"{count:,}" if count else "-" for count in counts)
    return (*shown, f"{seconds:.1f}", f"{memory / 1e6:.0f}")


@click.command()
@options("bench")
def bench(quick: bool) -> None:
    """Measure what packets, flows, hosts and points cost: processor time and memory."""
    ready_lab()
    table = Table(_HEAD[0], *(Column(name, justify="right") for name in _HEAD[1:]))
    for words in CASES[: 2 if quick else None]:
        table.add_row(words, *_measured(words))
    Console(width=110).print(table)


def _measured(words: str) -> tuple[str, ...]:
    """Run a command in a folder of its own. Raises CommandError if it fails."""
    with TemporaryDirectory() as scratch:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        typed = [*shlex.split(words), *_ONCE.get(words[:3], ()), "--out", scratch]
        started = subprocess.Popen(
            [*command("experiments.cli.main"), *typed],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        taken = ProcessUsage()
        while started.poll() is None:
            taken += taken_by(started.pid)
            time.sleep(_LOOK)
        if started.returncode:
            assert started.stderr
            raise CommandError(f"tcplab {words}", started.returncode, started.stderr.read())
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return _cells(_counts(Path(scratch)), seconds, taken.peak)


def _counts(folder: Path) -> tuple[int, int, int, int]:
    """Return the packets over all links, flows, hosts and points of the newest result."""
    for file in folder.glob("*/*/sweep.json"):
        return 0, 0, 0, int(json_value(file.read_text())["points"]["done"])
    (spec,) = (json_value(file.read_text()) for file in folder.glob("*/[0-9]*/spec.json"))
    hosts = sum(node["kind"] == "host" for node in spec["topology"]["nodes"])
    packets = 0
    for file in folder.glob("*/[0-9]*/raw/seed-*/*/qdiscs.json"):
        readings = json_value(file.read_text())
        for when, sign in (("before", -1), ("after", 1)):
            rows = (row for rows in readings[when].values() for row in rows if row.get("root"))
            packets += sign * sum(int(row["packets"]) for row in rows)
    return packets, len(spec["flows"]), hosts, 1


_PASSED_ON = {"ignore_unknown_options": True, "help_option_names": []}


@click.command("doctor", context_settings=_PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def doctor(arguments: tuple[str, ...]) -> None:
    """Check this machine and print how to fix each problem (--json)."""
    sys.exit(examination.main(arguments))


@click.command("clean", context_settings=_PASSED_ON)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def clean_up(arguments: tuple[str, ...]) -> None:
    """Remove what killed runs left behind, as they noted it."""
    sys.exit(changes.main(arguments))


@click.command("docs")
@options("docs")
def docs(out: Path, serve: bool, port: int, quick: bool) -> None:
    """Build the documentation site with reference and gallery; a dead link is an error."""
    # It listens before the site is built, so that a port that is taken is known at once.
    files = StaticFiles(directory=out, html=True, check_dir=False)
    site = Starlette(routes=[Mount("/", files)])
    with LocalServer(site, port) if serve else nullcontext() as server:
        require_writable(out)
        write_site(out, with_pictures=not quick)
        click.echo(f"Site: {(out / 'index.html').resolve()}")
        if server:
            click.echo(f"The site is http://{HOST}:{server.port}/\nCtrl-C ends it.")
            try:
                server.run()
            except KeyboardInterrupt:
                click.echo("Ended.", err=True)


def write_site(out: Path, with_pictures: bool) -> None:
    """Build the site. Raises TcplabError for a page or a dead link, CommandError for a picture."""
    files: dict[str, Path] = {}
    if with_pictures:
        from experiments.documentation import front
        from experiments.documentation.pictures import recorded

        lab = ready_lab()
        program = [sys.executable, "-P", "-m", main.__name__]
        files = made(pictures(), program, lambda title: click.echo(f"Drawing: {title}", err=True))
        front.write(program, lambda line: click.echo(line, err=True))
        files |= recorded(lab, lambda line: click.echo(line, err=True))
    generated = {
        **reference(tcplab, PROGRAM),
        "gallery/index.md": gallery_page(pictures(), list(files)),
    }
    build(generated, files, out)


@click.command("release")
@options("release")
def release(out: Path, new: bool, prebuilt: bool) -> None:
    """Make a self-contained release of this checkout: wheels and an archive."""
    from testbed import release as release_module

    with shown(sys.stderr) as report:
        if prebuilt:
            written = release_module.write(report)
        else:
            require_writable(out)
            digests = release_module.make_release(out, report, new)
    if prebuilt:
        for recipe in written:
            click.echo(f"{recipe.name}: written to prebuilt/, to be committed.")
        if not written:
            click.echo("No recipe has changed.")
        return
    for name, digest in digests.items():
        size = (out / name).stat().st_size / 1e6
        click.echo(f"{digest}  {size:6.1f} MB  {out / name}")


@click.command("lock")
@options("lock")
def lock(update: bool) -> None:
    """Renew the locks of Debian's and Python's packages and of crates."""
    from testbed import release as release_module

    with shown(sys.stderr) as report:
        release_module.update(report)
    click.echo("The locks are renewed; `git diff` shows the changes.")


@click.command()
def man() -> None:
    """Print the manual page: ./tcplab man | man -l -"""
    click.echo(manual(tcplab), nl=False)
