"""`tcplab lab preview`, `lint` and `new`: an instructor's hour before a lab is given out."""

from collections.abc import Callable
from pathlib import Path

import click

from experiments.cli.options import Command, options
from labs.definition import catalogue
from labs.definition.assignment import Course, read_course
from labs.definition.spec import LabSpec


def _find(_context: click.Context, _param: click.Parameter, name: str) -> LabSpec:
    return catalogue.find(name)


def _course(_context: click.Context, _param: click.Parameter, file: Path | None) -> Course:
    return read_course(file)


lab_argument = click.argument("lab", metavar="LAB", callback=_find)


def lab_options(command: str) -> Callable[[Command], Command]:
    """Return the options of a command, with labs and courses instead of their names."""
    return options(command, lab={"callback": _find}, course={"callback": _course})


@click.command("preview")
@lab_argument
@lab_options("lab preview")
def preview_command(
    lab: LabSpec, variants: int, course: Course, out: Path | None, workers: int | None
) -> None:
    """Show handouts, keys, the spread of answers, and where the points go."""
    from labs.instructor.preview import run_variants, write_preview

    folder = out or _folder(lab.name)
    folder.mkdir(parents=True, exist_ok=True)
    found = run_variants(lab, variants, folder, course, workers)
    click.echo(write_preview(found, folder))
    click.echo(found.summary)


@click.command("bank")
@lab_argument
@lab_options("lab bank")
def bank_command(
    lab: LabSpec, variants: int, course: Course, out: Path | None, workers: int | None
) -> None:
    """Write quiz questions with drawn numbers: GIFT for Moodle, text2qti for Canvas."""
    from labs.instructor.question_bank import write_bank

    folder = out or Path(f"{lab.name}-bank")
    folder.mkdir(parents=True, exist_ok=True)
    for file in write_bank(lab, variants, folder, course, workers):
        click.echo(file)


@click.command("oral")
@click.argument("hand_in", type=click.Path(path_type=Path, exists=True))
@lab_options("lab oral")
def oral_command(hand_in: Path, lab: LabSpec, course: Course, out: Path | None) -> None:
    """Write questions for an oral exam from a hand-in's answers and frames, then their key."""
    from labs.instructor.oral import write_sheet

    click.echo(write_sheet(hand_in, lab, course, out))


@click.command("lint")
@click.argument("names", metavar="[LAB]...", nargs=-1)
@lab_options("lab lint")
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
@lab_options("lab new")
def new_command(name: str, like: str) -> None:
    """Begin a lab: two files that run, to be changed."""
    folder = catalogue.new_lab(name, like)
    key = "key.toml" if (folder / "key.toml").is_file() else "key.py"
    click.echo(f"{folder}: change lab.toml and {key}; then ./tcplab lab lint {name}")
