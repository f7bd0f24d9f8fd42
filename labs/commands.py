"""`tcplab lab` for students and `tcplab grade` for instructors."""

import functools
import sys
from pathlib import Path

import click

from experiments.cli.commands import ClearGroup
from experiments.cli.options import FILE, FOLDER, PATH, options
from labs.definition import assignment, catalogue
from labs.definition.assignment import Assignment, Course, read_course
from labs.definition.spec import LabSpec
from labs.grading.tables import cell, read_roster
from topologies.errors import UsageError


def _find(_context: click.Context, _param: click.Parameter, name: str) -> LabSpec:
    return catalogue.find(name)


_of_lab = click.argument("lab", metavar="LAB", callback=_find)
_read = {"callback": lambda _context, _param, file: read_course(file)}
_options = functools.partial(options, lab={"callback": _find}, course=_read)
_of_student = click.argument(
    "own",
    metavar="[FOLDER]",
    type=FOLDER,
    default=Path(),
    callback=lambda _context, _param, folder: assignment.read_assignment(folder),
)


@click.group(cls=ClearGroup)
def lab() -> None:
    """Start a lab, do its runs, check and pack the answers."""


@lab.command("list")
def list_command() -> None:
    """List all labs with their questions."""
    for name in catalogue.names():
        spec = catalogue.find(name)
        click.echo(f"{name:<24} {spec.minutes:>4} min  {spec.points:>3} points  {spec.asks}")


@lab.command("start")
@click.argument("name", metavar="LAB")
@_options("lab start")
def start_command(
    name: str, student: str, variants: Path | None, course: Course, language: str, out: Path | None
) -> None:
    """Make a folder with the handout, the runs to do, and answers.toml."""
    from labs.student.hand_in import safe_name
    from labs.student.handout import start

    spec = catalogue.find(name, language)
    if variants and course != assignment.SELF_STUDY:
        raise UsageError("--variants and --course exclude each other.", "Students use --variants.")
    variant = assignment.variant_from(variants, spec, student, course)
    folder = out or Path(f"{name}-{safe_name(variant.student)}")
    start(spec, variant, folder)
    click.echo(f"{folder}/handout.html says what to do; then: ./tcplab lab run {folder}")


@lab.command("run")
@_of_student
@_options("lab run")
def run_command(own: Assignment, testbed: str, again: bool) -> None:
    """Record your predictions and do the lab's runs that are not there yet."""
    from labs.student.runs import carry_out_run, runs_to_make

    made = 0
    try:
        for run in runs_to_make(own, again):
            click.echo(f"{run.name}: {carry_out_run(own, run, testbed)}")
            made += 1
    except UsageError as waits:
        if not made:
            raise
        click.echo(str(waits))
    click.echo(f"Now the questions: {own.folder / 'answers.toml'}")


@lab.command("try")
@_of_student
@_options("lab try")
def try_command(own: Assignment, workers: int | None) -> None:
    """Run your programs on networks like the hidden ones, and say which tests they pass."""
    from labs.measuring.ranges import carry_programs
    from labs.student.runs import own_parts

    tried = carry_programs(own.lab, own_parts(own), own.folder / "tries", workers)
    if not tried:
        raise UsageError(f"Lab {own.lab.name} asks for no program.", "See its handout.")
    for name, results in tried.items():
        most = len(own.lab.question(name).tests)
        for network, result in results:
            passed = f"{len(result.passed)} of {most} tests passed"
            failed = f"\n    {result.reason}" if result.reason else ""
            click.echo(f"{', '.join(network.settings)}: {passed}{failed}")


@lab.command("shell")
@_of_student
@_options("lab shell")
def shell_command(own: Assignment, name: str) -> None:
    """Type commands into h1 and h2 of your network; typed.json records them for grading.

    A host's programs are the lab's: tc, sysctl, ss, ping, tcpdump, iperf, python3.
    """
    from experiments.cli.shell import HELP, typed_lines
    from labs.definition.runs import TYPED
    from labs.student.runs import open_shell

    if sys.stdin.isatty():
        click.echo(HELP, err=True)
    show = functools.partial(print, end="", flush=True)
    number = open_shell(own, name, typed_lines(), show)
    click.echo(f"{number} lines are in {own.folder / TYPED}.", err=True)


@lab.command("check")
@_of_student
def check_command(own: Assignment) -> None:
    """Say what is missing or implausible; show no points."""
    from labs.student.hand_in import check

    findings = check(own)
    for finding in findings:
        click.echo(f"{finding.where}: {finding.text}")
    wrong = sum(finding.wrong for finding in findings)
    click.echo(f"{wrong} to look at." if wrong else "Everything is there and can be read.")
    raise SystemExit(1 if wrong else 0)


@lab.command("print")
@_of_student
@_options("lab print")
def print_command(own: Assignment, out: Path | None) -> None:
    """Write the handout as PDF, on sheets of A4; needs WeasyPrint."""
    from labs.student.handout import print_handout

    click.echo(print_handout(own, out))


@lab.command("pack")
@_of_student
@_options("lab pack")
def pack_command(own: Assignment, out: Path | None) -> None:
    """Make the one file to hand in."""
    from labs.student.hand_in import blanks, check, pack

    file = pack(own, out)
    if blank := blanks(own):
        click.echo(f"Not answered: {', '.join(blank)}.", err=True)
    for finding in check(own):
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
@_options("lab course new")
def course_command(file: Path, name: str) -> None:
    """Make a course's file with a fresh secret, for the instructor."""
    course = assignment.new_course(file, name or file.stem)
    click.echo(f"{file} holds the secret of {course.name}. Keep it, and keep it to yourself.")


@course_group.command("status")
@click.argument("folders", metavar="GRADES...", nargs=-1, required=True, type=FOLDER)
@_options("lab course status")
def status_command(folders: tuple[Path, ...], roster: Path | None, out: Path | None) -> None:
    """Show a row for each student and a column for each graded lab; write tables.

    GRADES are folders that `grade` wrote. The tables are gradebook.csv, canvas.csv, moodle.csv, and
    items.csv with the statistics of each question.
    """
    from labs.grading.gradebook import course_tables, read_graded, status, students_of

    graded = [read_graded(folder) for folder in folders]
    people = students_of(graded, read_roster(roster) if roster else ())
    rows = [[cell(value) for value in row] for row in status(graded, people)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo("  ".join(map(str.ljust, row, widths)).rstrip())
    if out:
        out.mkdir(parents=True, exist_ok=True)
        for name, text in course_tables(graded, people):
            (out / name).write_text(text)


@lab.command("variants")
@_of_lab
@_options("lab variants")
def variants_command(lab: LabSpec, roster: Path, course: Course, out: Path | None) -> None:
    """Write the file that students start from: every variant of the class, without names."""
    ids = [person.id for person in read_roster(roster)]
    target = out or Path(f"{lab.name}-variants.json")
    target.write_text(assignment.class_file(course, lab, ids))
    start = f"./tcplab lab start {lab.name} --student ID --variants {target}"
    click.echo(f"{target}: {len(ids)} variants. Students: {start}")


@lab.command("key")
@_of_lab
@_options("lab key")
def key_command(lab: LabSpec, student: str, course: Course, module: Path | None, out: Path) -> None:
    """The instructor's key of one student: do the student's runs and print every answer."""
    from labs.grading.marking import Marker
    from labs.measuring.ranges import carry_out

    variant = assignment.variant(course, lab, student)
    key = carry_out(lab, [variant], out, module=module)[0].key(lab)
    marker = Marker(lab, key, {}, {}, {}, {})
    for number, question in enumerate(lab.questions, 1):
        answer = marker.expected(question) or "any prediction that was made before the run"
        if question.rubric:
            answer = f"read by a person. {question.rubric} {marker.model(question)}".strip()
        click.echo(f"{number}. {question.ask}\n   {answer}\n   {question.how}")


@lab.command("ranges")
@_of_lab
@_options("lab ranges")
def ranges_command(lab: LabSpec, seeds: int, out: Path, workers: int | None) -> None:
    """Run the corners of a lab's ranges and say for which its lesson shows."""
    from labs.measuring.ranges import check_ranges

    corners = check_ranges(lab, seeds, out, workers)
    for corner in corners:
        if not corner.lesson:
            values = ", ".join(f"{name} {value}" for name, value in corner.variant.values)
            click.echo(f"not shown: {values}, seed {corner.variant.seed} {corner.problem}")
    successes = sum(corner.lesson for corner in corners)
    shown = f"The lesson of {lab.name} shows in {successes} of {len(corners)} runs"
    click.echo(f"{shown} at the corners of its ranges.")
    raise SystemExit(successes < len(corners))


@lab.command("preview")
@_of_lab
@_options("lab preview")
def preview_command(
    lab: LabSpec, variants: int, course: Course, out: Path | None, workers: int | None
) -> None:
    """Show handouts, keys, the spread of answers, and where the points go."""
    from labs.instructor.preview import run_variants, write_preview

    folder = out or Path(f"{lab.name}-preview")
    folder.mkdir(parents=True, exist_ok=True)
    found = run_variants(lab, variants, folder, course, workers)
    click.echo(write_preview(found, folder))
    click.echo(found.summary)


@lab.command("bank")
@_of_lab
@_options("lab bank")
def bank_command(
    lab: LabSpec, variants: int, course: Course, out: Path | None, workers: int | None
) -> None:
    """Write quiz questions with drawn numbers: GIFT for Moodle, text2qti for Canvas."""
    from labs.instructor.question_bank import write_bank

    folder = out or Path(f"{lab.name}-bank")
    folder.mkdir(parents=True, exist_ok=True)
    for file in write_bank(lab, variants, folder, course, workers):
        click.echo(file)


@lab.command("oral")
@click.argument("hand_in", type=click.Path(path_type=Path, exists=True))
@_options("lab oral")
def oral_command(hand_in: Path, lab: LabSpec, course: Course, out: Path | None) -> None:
    """Write questions for an oral exam from a hand-in's answers and frames, then their key."""
    from labs.instructor.oral import write_sheet

    click.echo(write_sheet(hand_in, lab, course, out))


@lab.command("lint")
@click.argument("names", metavar="[LAB]...", nargs=-1)
@_options("lab lint")
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
            folder = Path(f"{name}-preview")  # it remembers the variants that were run
            preview = run_variants(catalogue.find(name), variants, folder, workers=workers)
            findings += [(name, each) for each in lint_variants(preview)]
        for where, finding in findings:
            click.echo(f"{where}, {finding.where}: {finding.text}")
        found += len(findings)
    click.echo(f"{found} to correct." if found else "No mistakes found.")
    raise SystemExit(1 if found else 0)


@lab.command("new")
@click.argument("name", metavar="NAME")
@_options("lab new")
def new_command(name: str, like: str) -> None:
    """Begin a lab: two files that run, to be changed."""
    folder = catalogue.new_lab(name, like)
    key = "key.toml" if (folder / "key.toml").is_file() else "key.py"
    click.echo(f"{folder}: change lab.toml and {key}; then ./tcplab lab lint {name}")


@click.command()
@click.argument("submissions", type=PATH)
@_options("grade")
def grade(
    submissions: Path,
    lab: LabSpec,
    out: Path,
    course: Course,
    roster: Path | None,
    worksheet: Path | None,
    submitters: Path | None,
    workers: int | None,
) -> None:
    """Grade a class's hand-ins: repeat each run, compare, and mark the answers.

    SUBMISSIONS is a folder, or a download of Moodle or Canvas.
    """
    from labs.grading.exports import read_submitters
    from labs.grading.files import CourseFiles
    from labs.grading.grade import ClassRequest, grade_all

    people = read_roster(roster) if roster else ()
    users = read_submitters(submitters) if submitters else ()
    given = CourseFiles(worksheet, roster)
    request = ClassRequest(submissions, lab, course, out, people, given, users, workers)
    click.echo(f"{grade_all(request) / 'class.html'}")
