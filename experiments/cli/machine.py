"""`tcplab report`, `completion`, `doctor`, `clean`, `docs`, `release`, `lock` and `man`."""

import os
import sys
from contextlib import nullcontext
from pathlib import Path

import click
from click.shell_completion import get_completion_class
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
from testbed.native import changes

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
    with _server(out, port) if serve else nullcontext() as server:
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


def _server(folder: Path, port: int) -> LocalServer:
    """Listen before the site is built, so that a port that is taken is known at once."""
    files = StaticFiles(directory=folder, html=True, check_dir=False)
    return LocalServer(Starlette(routes=[Mount("/", files)]), port)


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
