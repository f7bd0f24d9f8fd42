"""`tcplab lab` for students and `tcplab grade` for instructors."""

import functools
import sys
from pathlib import Path

import click

from experiments.cli.commands import ClearGroup
from experiments.cli.options import FILE, FOLDER, workers_option
from experiments.run.request import TESTBEDS
from labs.definition import catalogue
from labs.definition.assignment import (
    class_file,
    new_course,
    read_assignment,
    read_course,
    variant,
    variant_from,
)
from labs.instructor import commands as instructor
from topologies.errors import UsageError

_runs_option = click.option("--out", type=FOLDER, default=Path("runs"), show_default=True)
_folder = click.argument("folder", type=FOLDER, default=Path())


@click.group(cls=ClearGroup)
def lab() -> None:
    """Start a lab, do its runs, check and pack the answers."""


for _name in ("preview", "lint", "bank", "oral", "new"):
    lab.add_command(getattr(instructor, f"{_name}_command"))


@lab.command("list")
def list_command() -> None:
    """List all labs with their questions."""
    for name in catalogue.names():
        spec = catalogue.find(name)
        click.echo(f"{name:<24} {spec.minutes:>4} min  {spec.points:>3} points  {spec.asks}")


@lab.command("start")
@click.argument("name", metavar="LAB")
@click.option("--student", required=True, metavar="ID", help="Your id in the course.")
@click.option(
    "--variants",
    "variants_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file of variants that your instructor gave out; without it you study by yourself.",
)
@instructor.course_option
@click.option(
    "--language",
    default=catalogue.FIRST_LANGUAGE,
    show_default=True,
    metavar="LANGUAGE",
    help="Of the handout, if the lab is written in it.",
)
@click.option("--out", type=click.Path(path_type=Path), metavar="FOLDER", help="[default: LAB-ID]")
def start_command(
    name: str,
    student: str,
    variants_file: Path | None,
    course_file: Path | None,
    language: str,
    out: Path | None,
) -> None:
    """Make a folder with the handout, the runs to do, and answers.toml."""
    from labs.student.hand_in import safe_name
    from labs.student.handout import start

    spec = catalogue.find(name, language)
    if variants_file and course_file:
        raise UsageError("--variants and --course exclude each other.", "Students use --variants.")
    own_variant = variant_from(variants_file, spec, student, read_course(course_file))
    folder = out or Path(f"{name}-{safe_name(own_variant.student)}")
    start(spec, own_variant, folder)
    click.echo(f"{folder}/handout.html says what to do; then: ./tcplab lab run {folder}")


@lab.command("run")
@_folder
@click.option(
    "--testbed",
    type=click.Choice(TESTBEDS),
    default="virtual",
    show_default=True,
    help="Lab kernel in virtual time, or this kernel in real time (native, as root).",
)
@click.option("--again", is_flag=True, help="Also runs that are there already.")
def run_command(folder: Path, testbed: str, again: bool) -> None:
    """Record your predictions and do the lab's runs that are not there yet."""
    from labs.student.runs import carry_out_run, runs_to_make

    assignment = read_assignment(folder)
    made = 0
    try:
        for run in runs_to_make(assignment, again):
            place = carry_out_run(assignment, run, testbed)
            click.echo(f"{run.name}: {place}")
            made += 1
    except UsageError as waits:
        if not made:
            raise
        click.echo(str(waits))
    click.echo(f"Now the questions: {folder / 'answers.toml'}")


@lab.command("try")
@_folder
@workers_option
def try_command(folder: Path, workers: int | None) -> None:
    """Run your programs on networks like the hidden ones, and say which tests they pass."""
    from labs.measuring.ranges import carry_programs
    from labs.student.runs import own_parts

    assignment = read_assignment(folder)
    tried = carry_programs(assignment.lab, own_parts(assignment), folder / "tries", workers)
    if not tried:
        raise UsageError(f"Lab {assignment.lab.name} asks for no program.", "See its handout.")
    for name, results in tried.items():
        most = len(assignment.lab.question(name).tests)
        for network, result in results:
            passed = f"{len(result.passed)} of {most} tests passed"
            failed = f"\n    {result.reason}" if result.reason else ""
            click.echo(f"{', '.join(network.settings)}: {passed}{failed}")


@lab.command("shell")
@_folder
@click.option("--run", "name", default="", metavar="RUN", help="[default: the first]")
def shell_command(folder: Path, name: str) -> None:
    """Type commands into h1 and h2 of your network; typed.json records them for grading.

    A host's programs are the lab's: tc, sysctl, ss, ping, tcpdump, iperf, python3.
    """
    from experiments.cli.shell import HELP, typed_lines
    from labs.definition.runs import TYPED
    from labs.student.runs import open_shell

    if sys.stdin.isatty():
        click.echo(HELP, err=True)
    show = functools.partial(print, end="", flush=True)
    number = open_shell(read_assignment(folder), name, typed_lines(), show)
    click.echo(f"{number} lines are in {folder / TYPED}.", err=True)


@lab.command("check")
@_folder
def check_command(folder: Path) -> None:
    """Say what is missing or implausible; show no points."""
    from labs.student.hand_in import check

    findings = check(read_assignment(folder))
    for finding in findings:
        click.echo(f"{finding.where}: {finding.text}")
    wrong = sum(finding.wrong for finding in findings)
    click.echo(f"{wrong} to look at." if wrong else "Everything is there and can be read.")
    raise SystemExit(1 if wrong else 0)


@lab.command("print")
@_folder
@click.option("--out", type=FILE, metavar="FILE")
def print_command(folder: Path, out: Path | None) -> None:
    """Write the handout as PDF, on sheets of A4; needs WeasyPrint."""
    from labs.student.handout import print_handout

    click.echo(print_handout(read_assignment(folder), out))


@lab.command("pack")
@_folder
@click.option("--out", type=FILE, metavar="FILE")
def pack_command(folder: Path, out: Path | None) -> None:
    """Make the one file to hand in."""
    from labs.student.hand_in import blanks, check, pack

    assignment = read_assignment(folder)
    file = pack(assignment, out)
    if blank := blanks(assignment):
        click.echo(f"Not answered: {', '.join(blank)}.", err=True)
    for finding in check(assignment):
        if finding.wrong and finding.where not in blank:
            click.echo(f"{finding.where}: {finding.text}", err=True)
    click.echo(f"{file} ({file.stat().st_size / 1e6:.1f} MB)")


class _CourseGroup(ClearGroup):
    """`course FILE` makes a course; another first word is a command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = [*self.commands, *ctx.help_option_names]
        return super().parse_args(ctx, args if not args or args[0] in words else ["new", *args])


@lab.group("course", cls=_CourseGroup)
def course_group() -> None:
    """Make a course's file: `course FILE`; show the gradebook over its labs: `course status`."""


@course_group.command("new")
@click.argument("file", type=FILE)
@click.option(
    "--name", default="", metavar="NAME", help="The course's name.  [default: the file's]"
)
def course_command(file: Path, name: str) -> None:
    """Make a course's file with a fresh secret, for the instructor."""
    course = new_course(file, name or file.stem)
    click.echo(f"{file} holds the secret of {course.name}. Keep it, and keep it to yourself.")


@course_group.command("status")
@click.argument("folders", metavar="GRADES...", nargs=-1, required=True, type=FOLDER)
@click.option("--students", "roster", type=FILE, metavar="FILE", help="The class.")
@click.option("--out", type=FOLDER, metavar="DIR", help="Folder of the tables.")
def status_command(folders: tuple[Path, ...], roster: Path | None, out: Path | None) -> None:
    """Show a row for each student and a column for each graded lab; write tables.

    GRADES are folders that `grade` wrote. The tables are gradebook.csv, canvas.csv, moodle.csv, and
    items.csv with the statistics of each question.
    """
    from labs.grading.gradebook import course_tables, read_graded, status, students_of
    from labs.grading.tables import cell, read_roster

    graded = [read_graded(folder) for folder in folders]
    people = students_of(graded, read_roster(roster) if roster else ())
    rows = [[cell(value) for value in row] for row in status(graded, people)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())
    for name, text in course_tables(graded, people) if out else ():
        assert out
        out.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)


@lab.command("variants")
@click.argument("name", metavar="LAB")
@instructor.file_option(
    "--students", "roster", "A table with a column id, or one id in a line.", required=True
)
@instructor.course_option
@click.option("--out", type=FILE, metavar="FILE", help="[default: LAB-variants.json]")
def variants_command(name: str, roster: Path, course_file: Path | None, out: Path | None) -> None:
    """Write the file that students start from: every variant of the class, without names."""
    from labs.grading.tables import read_roster

    spec = catalogue.find(name)
    ids = [person.id for person in read_roster(roster)]
    target = out or Path(f"{name}-variants.json")
    target.write_text(class_file(read_course(course_file), spec, ids))
    start = f"./tcplab lab start {name} --student ID --variants {target}"
    click.echo(f"{target}: {len(ids)} variants. Students: {start}")


@lab.command("key")
@click.argument("name", metavar="LAB")
@click.option("--student", required=True, metavar="ID", help="The student whose run gives the key.")
@instructor.course_option
@click.option("--module", type=FILE, metavar="FILE", help="The student's module.")
@_runs_option
def key_command(
    name: str, student: str, course_file: Path | None, module: Path | None, out: Path
) -> None:
    """The instructor's key of one student: do the student's runs and print every answer."""
    from labs.grading.marking import Marker
    from labs.measuring.ranges import carry_out

    spec = catalogue.find(name)
    own_variant = variant(read_course(course_file), spec, student)
    key = carry_out(spec, [own_variant], out, module=module)[0].key(spec)
    marker = Marker(spec, key, {}, {}, {}, {})
    for number, question in enumerate(spec.questions, 1):
        answer = marker.expected(question) or "any prediction that was made before the run"
        if question.rubric:
            answer = f"read by a person. {question.rubric} {marker.model(question)}".strip()
        click.echo(f"{number}. {question.ask}\n   {answer}\n   {question.how}")


@lab.command("ranges")
@click.argument("name", metavar="LAB")
@click.option(
    "--seeds",
    type=click.IntRange(1, 100),
    default=3,
    show_default=True,
    help="Seeds at each corner.",
)
@_runs_option
@workers_option
def ranges_command(name: str, seeds: int, out: Path, workers: int | None) -> None:
    """Run the corners of a lab's ranges and say for which its lesson shows."""
    from labs.measuring.ranges import check_ranges

    corners = check_ranges(catalogue.find(name), seeds, out, workers)
    for corner in corners:
        if not corner.lesson:
            values = ", ".join(f"{name} {value}" for name, value in corner.variant.values)
            click.echo(f"not shown: {values}, seed {corner.variant.seed} {corner.problem}")
    successes = sum(corner.lesson for corner in corners)
    shown = f"The lesson of {name} shows in {successes} of {len(corners)} runs"
    click.echo(f"{shown} at the corners of its ranges.")
    raise SystemExit(successes < len(corners))


@click.command()
@click.argument("submissions", type=click.Path(path_type=Path))
@click.option("--lab", "name", required=True, metavar="LAB", help="Which lab was handed in.")
@click.option(
    "--out",
    required=True,
    type=FOLDER,
    metavar="DIR",
    help="Folder of the grades; the same command goes on after a stop.",
)
@instructor.course_option
@instructor.file_option(
    "--students", "roster", "The class: columns id, name, email, moodle, canvas as far as known."
)
@instructor.file_option(
    "--worksheet",
    "worksheet",
    "Moodle's grading worksheet as it was downloaded: moodle.csv is that file with grades.",
)
@instructor.file_option(
    "--gradescope-metadata",
    "gradescope_metadata",
    "Gradescope's submission_metadata.json: the hand-in must be of who submitted it.",
)
@workers_option
def grade(
    submissions: Path,
    name: str,
    out: Path,
    course_file: Path | None,
    roster: Path | None,
    worksheet: Path | None,
    gradescope_metadata: Path | None,
    workers: int | None,
) -> None:
    """Grade a class's hand-ins: repeat each run, compare, and mark the answers.

    SUBMISSIONS is a folder, or a download of Moodle or Canvas.
    """
    from labs.grading.exports import read_submitters
    from labs.grading.files import CourseFiles
    from labs.grading.grade import ClassRequest, grade_all
    from labs.grading.tables import read_roster

    request = ClassRequest(
        submissions,
        catalogue.find(name),
        read_course(course_file),
        out,
        people=read_roster(roster) if roster else (),
        given=CourseFiles(worksheet, roster),
        submitters=read_submitters(gradescope_metadata) if gradescope_metadata else (),
        workers=workers,
    )
    click.echo(f"{grade_all(request) / 'class.html'}")
