"""`tcplab docs`: the documentation as a site, with its reference from the code and its gallery."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path

import click
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

import tcplab as python
from experiments.harness.browsing.local_server import HOST, LocalServer
from experiments.harness.cli import main
from experiments.harness.cli.commands import tcplab
from experiments.harness.cli.messages import one_clear_message, ready_lab
from experiments.harness.documentation.column_pages import column_pages
from experiments.harness.documentation.command_pages import command_pages
from experiments.harness.documentation.gallery import PROGRAM, gallery_page, made, pictures
from experiments.harness.documentation.page_sources import collected
from experiments.harness.documentation.python_pages import python_pages
from experiments.harness.documentation.site_building import build
from experiments.harness.documentation.spec_pages import spec_pages


@click.command("docs")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("site"),
    show_default=True,
    help="The folder for the site, which is made anew.",
)
@click.option("--serve", is_flag=True, help="Show the site on 127.0.0.1 until Ctrl-C.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.option("--quick", is_flag=True, help="Leave out the gallery's pictures, which take runs.")
def docs(out: Path, serve: bool, port: int, quick: bool) -> None:
    """Build the documentation as a site with reference and gallery; a dead link is an error."""
    with one_clear_message(), _server(out, port) if serve else nullcontext() as server:
        write_site(out, with_pictures=not quick)
        click.echo(f"Site: {(out / 'index.html').resolve()}")
        if server:
            _serve(server)


def write_site(out: Path, with_pictures: bool) -> None:
    """Raises TcplabError, CommandError."""
    shown = pictures()
    files = _pictures() if with_pictures else {}
    sources = collected(
        {
            **command_pages(tcplab, PROGRAM),
            **spec_pages(),
            **column_pages(),
            **python_pages(python.places()),
            "gallery/index.md": gallery_page(shown, list(files)),
        }
    )
    build(sources._replace(files={**sources.files, **files}), out)


def _pictures() -> dict[str, Path]:
    ready_lab()
    program = [sys.executable, "-P", "-m", main.__name__]
    return made(pictures(), program, lambda title: click.echo(f"Drawing: {title}", err=True))


def _server(folder: Path, port: int) -> LocalServer:
    """Listens before the site is built, so that a port that is taken is known at once."""
    files = StaticFiles(directory=folder, html=True, check_dir=False)
    return LocalServer(Starlette(routes=[Mount("/", files)]), port)


def _serve(server: LocalServer) -> None:
    click.echo(f"The site is http://{HOST}:{server.port}/\nCtrl-C ends it.")
    try:
        server.run()
    except KeyboardInterrupt:
        click.echo("Ended.", err=True)
