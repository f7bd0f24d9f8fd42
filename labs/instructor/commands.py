"""`tcplab lab preview`, `lint` and `new`: an instructor's hour before a lab is given out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from experiments.cli.options import FILE, FOLDER, workers_option
from labs.definition import catalogue
from labs.definition.assignment import read_course

Command = TypeVar("Command", bound=Callable[..., Any])


def file_option(flag: str, name: str, text: str, **more: Any) -> Callable[[Command], Command]:
    """Return an option that names a file."""
    return click.option(flag, name, type=FILE, metavar="FILE", help=text, **more)


course_option = file_option(
    "--course", "course_file", "The file with the course's secret.  [default: self-study]"
)


@click.command("preview")
@click.argument("name", metavar="LAB")
@click.option(
    "--variants",
    type=click.IntRange(1, 1000),
    default=5,
    show_default=True,
    help="Variants to run; fifty show how even they are.",
)
@course_option
@click.option("--out", type=FOLDER, metavar="DIR", help="[default: LAB-preview]")
@workers_option
def preview_command(
    name: str, variants: int, course_file: Path | None, out: Path | None, workers: int | None
) -> None:
    """Show handouts, keys, the spread of answers, and where the points go."""
    from labs.instructor.preview import run_variants, write_preview

    lab, course = catalogue.find(name), read_course(course_file)
    folder = out or _folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    found = run_variants(lab, variants, folder, course, workers)
    click.echo(write_preview(found, folder))
    click.echo(found.summary)


@click.command("bank")
@click.argument("name", metavar="LAB")
@click.option("--variants", type=click.IntRange(1, 100), default=5, show_default=True)
@course_option
@click.option("--out", type=FOLDER, metavar="DIR", help="[default: LAB-bank]")
@workers_option
def bank_command(
    name: str, variants: int, course_file: Path | None, out: Path | None, workers: int | None
) -> None:
    """Write quiz questions with drawn numbers: GIFT for Moodle, text2qti for Canvas."""
    from labs.instructor.question_bank import write_bank

    lab, course = catalogue.find(name), read_course(course_file)
    folder = out or Path(f"{name}-bank")
    folder.mkdir(parents=True, exist_ok=True)
    for file in write_bank(lab, variants, folder, course, workers):
        click.echo(file)


@click.command("oral")
@click.argument("hand_in", type=click.Path(path_type=Path, exists=True))
@click.option("--lab", "name", required=True, metavar="LAB", help="Which lab was handed in.")
@course_option
@click.option("--out", type=FILE, metavar="FILE", help="[default: oral-ID.html]")
def oral_command(hand_in: Path, name: str, course_file: Path | None, out: Path | None) -> None:
    """Write questions for an oral exam from a hand-in's answers and frames, then their key."""
    from labs.instructor.oral import write_sheet

    click.echo(write_sheet(hand_in, catalogue.find(name), read_course(course_file), out))


@click.command("lint")
@click.argument("names", metavar="[LAB]...", nargs=-1)
@click.option(
    "--variants",
    type=click.IntRange(0, 1000),
    default=0,
    show_default=True,
    help="Variants to run: does the claim hold in each? LAB-preview remembers them.",
)
@workers_option
def lint_command(names: tuple[str, ...], variants: int, workers: int | None) -> None:
    """Say what is wrong with labs, in every language; without a name with all."""
    from labs.instructor.lint import lint
    from labs.instructor.preview import lint_variants, run_variants

    found = 0
    for name in names or catalogue.names():
        languages = catalogue.languages(catalogue.folder_of(name))
        labs = {f"{name} ({each})": catalogue.find(name, each) for each in languages}
        findings = [(where, each) for where, lab in labs.items() for each in lint(lab)]
        if variants:
            preview = run_variants(catalogue.find(name), variants, _folder(name), workers=workers)
            findings += [(name, each) for each in lint_variants(preview)]
        for where, finding in findings:
            click.echo(f"{where}, {finding.where}: {finding.text}")
        found += len(findings)
    click.echo(f"{found} to correct." if found else "No mistakes found.")
    raise SystemExit(1 if found else 0)


def _folder(name: str) -> Path:
    """Return the folder of a preview, which also remembers the variants that were run."""
    return Path(f"{name}-preview")


@click.command("new")
@click.argument("name", metavar="NAME")
@click.option("--like", default="", metavar="LAB", help="Copy this lab, with all its languages.")
def new_command(name: str, like: str) -> None:
    """Begin a lab: two files that run, to be changed."""
    from labs.definition.catalogue import new_lab

    folder = new_lab(name, like)
    key = "key.toml" if (folder / "key.toml").is_file() else "key.py"
    click.echo(f"{folder}: change lab.toml and {key}; then ./tcplab lab lint {name}")
