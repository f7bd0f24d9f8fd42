"""`tcplab compare` and `tcplab open`: runs beside each other, and the page of all runs."""

from __future__ import annotations

import json
import webbrowser
from pathlib import Path

import click
from rich.console import Console

import testbed
from experiments.harness.cli.completion import folders_of_runs
from experiments.harness.cli.messages import one_clear_message
from experiments.harness.cli.options_of_run import out_option
from experiments.harness.cli.result_document import AS_JSON

_FORMAT = 1


@click.command()
@click.argument("which", metavar="RUN|POINT...", nargs=-1, shell_complete=folders_of_runs)
@click.option("--json", "as_json", is_flag=True, help=AS_JSON)
@out_option
def compare(which: tuple[str, ...], as_json: bool, out: Path) -> None:
    """Put runs, or points of sweeps, beside each other: settings, results, curves.

    RUN is a folder, such as runs/sack/latest; POINT the beginning of a point's key (column `point`
    of a sweep's rows.csv), which stands for all seeds of its settings.
    """
    with one_clear_message():
        from experiments.harness.browsing.compared_runs import beside_each_other

        comparison, page = beside_each_other(which, out, Console(stderr=as_json))
        if as_json:
            about = {"format": _FORMAT, "tcplab": testbed.VERSION, "page": str(page)}
            click.echo(json.dumps(about | comparison.data, indent=1))


@click.command("open")
@click.option("--no-browser", is_flag=True, help="Make the page and print where it is.")
@out_option
def open_index(no_browser: bool, out: Path) -> None:
    """Show all runs in a browser: search them, and tick those to compare."""
    with one_clear_message():
        from experiments.harness.browsing.all_runs import write_index

        page = write_index(out).resolve()
        click.echo(page)
        if not no_browser and not webbrowser.open(page.as_uri()):
            click.echo("No browser could be started: open that file in one.", err=True)
