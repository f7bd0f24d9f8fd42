"""`--course`: the file with a course's secret, for every command that makes or grades variants."""

from __future__ import annotations

from pathlib import Path

import click

course_option = click.option(
    "--course",
    "course_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The file with the course's secret.  [default: self-study]",
)
