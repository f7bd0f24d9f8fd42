"""`tcplab lab preview`: handouts, keys, the spread of answers, and where the points go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from analysis.rendering.page_files import write
from labs.definition.answer_key import Key
from labs.definition.question import Question
from labs.definition.written_numbers import in_digits
from labs.instructor.evenness import TRIES, unevenness
from labs.instructor.kinds_of_students import KINDS_OF_STUDENTS
from labs.instructor.lint import lint
from labs.instructor.lint_variants import lint_variants
from labs.instructor.preview import LabPreview
from labs.instructor.working_time import WORDS_A_MINUTE, working_time
from labs.student.handout import handout_text
from labs.student.starting import handout_files
from labs.templates.rendering import markdown_page

_HANDOUTS = 3
_OTHERWISE = {"prediction": "as given", "script": "it is run and marked"}
"""What is right of kinds of questions whose answers no run gives."""


def write_preview(found: LabPreview, out: Path) -> Path:
    """Write the page and three handouts; returns the page's path."""
    lab = found.lab
    text = "\n".join(_page(found))
    files = {"preview.html": markdown_page(f"{lab.title}: preview", text, "en", {})}
    for own_variant in [runs.variant for runs in found.carried[:_HANDOUTS]]:
        handout = handout_files(lab, own_variant)
        files |= {f"{own_variant.student}/{name}": content for name, content in handout.items()}
    write(out, ((name, content.encode()) for name, content in files.items()), "lab preview")
    return out / "preview.html"


def _page(found: LabPreview) -> Iterator[str]:
    lab, variants = found.lab, found.carried
    yield f"# {lab.title}: preview\n\n*{lab.claim}*\n"
    yield from _facts(found)
    yield f"\n## Answers over {len(variants)} variants\n"
    yield "| question | points | kind | answers |\n| --- | --- | --- | --- |"
    for question in lab.questions:
        spread = _spread(question, found.keys)
        yield f"| `{question.id}` | {question.points} | {question.kind} | {spread} |"
    yield from _kinds(found)
    yield from _each(found)
    yield "\n## The key of the first student\n"
    for number, question in enumerate(lab.questions, 1):
        answer = found.markers[0].expected(question) or question.rubric or "as it was given"
        yield f"{number}. {question.ask}  \n   **{answer}**"
    yield "\n## To correct\n"
    wrong = [*lint(lab), *lint_variants(found)]
    findings = [f"* {each.where}: {each.text}" for each in wrong]
    yield "\n".join(findings) or "Nothing was found."


def _kinds(found: LabPreview) -> Iterator[str]:
    """What kinds of students earn, and how much that depends on the variant."""
    yield "\n## Five kinds of students\n"
    yield f"Percent of the points over the variants, each the mean of {TRIES} tries.\n"
    yield "| kind | least | median | most | most over least |\n| --- | --- | --- | --- | --- |"
    for kind, difference in unevenness(found.tried).items():
        points = [each.points[kind] for each in found.tried]
        spread = f"{min(points):.1f} | {median(points):.1f} | {max(points):.1f}"
        yield f"| {kind} | {spread} | {difference:.1f} |"
    ordered = sum(each.in_order for each in found.tried)
    yield f"\nThey come in this order in {ordered} of {len(found.tried)} variants, and in"
    yield f"{100 * found.ordered:.1f} % of all tries: a guess may be lucky."


def _each(found: LabPreview) -> Iterator[str]:
    """A line for each variant."""
    kinds = [kind.name for kind in KINDS_OF_STUDENTS]
    yield "\n## Each variant\n"
    yield "A mix-up is a known mistake that cannot be told from the right answer in this variant.\n"
    yield f"| variant | claim | {' | '.join(kinds)} | in order | mix-ups | not answered |"
    yield f"| --- | --- |{' --- |' * len(kinds)} --- | --- | --- |"
    for runs, shown, each in zip(found.carried, found.shown, found.tried, strict=True):
        values = " ".join(value for _, value in runs.variant.values)
        points = " | ".join(f"{each.points[kind]:.1f}" for kind in kinds)
        flags = f"{_yes(shown)} | {points} | {_yes(each.in_order)}"
        listed = f"{', '.join(each.mix_ups)} | {', '.join(each.unanswered)}"
        yield f"| {values} | {flags} | {listed} |"


def _yes(holds: bool) -> str:
    return "yes" if holds else "**no**"


def _facts(found: LabPreview) -> Iterator[str]:
    lab = found.lab
    by_kind: Counter[str] = Counter()
    for question in lab.questions:
        by_kind["reading" if question.is_reading else question.kind] += question.points
    listed = ", ".join(f"{kind} {points}" for kind, points in by_kind.most_common())
    yield f"* The claim holds in {sum(found.shown)} of {len(found.carried)} variants."
    yield f"* Level {lab.level}; {lab.minutes} minutes are stated. {_computed(found)}"
    yield f"* Where the {lab.points} points go: {listed}."
    yield f"* All runs together took {found.seconds:.0f} s here; what was known is not run again."
    students = [runs.variant.student for runs in found.carried[:_HANDOUTS]]
    links = ", ".join(f"[{name}]({name}/handout.html)" for name in students)
    yield f"* Handouts: {links}."


def _computed(found: LabPreview) -> str:
    """How long a student works, as it is computed."""
    time = working_time(found.lab, handout_text(found.lab, found.carried[0].variant))
    return (
        f"Computed are {time.total:.0f}: {time.reading:.0f} of reading, at {WORDS_A_MINUTE} words a"
        f" minute, and {time.questions:.0f} for the questions, by their kinds and points."
    )


def _spread(question: Question, keys: Sequence[Key]) -> str:
    """What the right answers are, over the variants."""
    if question.kind == "number":
        values = [key.numbers[question.id] for key in keys]
        least, middle, most = map(in_digits, (min(values), median(values), max(values)))
        return f"{least} to {most}, median {middle}"
    if question.kind in ("choice", "choices"):
        counts = Counter(option for key in keys for option in key.choices.get(question.id, ()))
        return ", ".join(f"`{option}` {count} times" for option, count in counts.most_common())
    if question.kind == "evidence":
        sizes = [len(key.frames.get(question.id, {})) for key in keys]
        return f"{min(sizes)} to {max(sizes)} frames prove it"
    if question.kind == "design":
        kept = [
            all(bound.keeps(key.measured[question.id][bound.id]) for bound in question.bounds)
            for key in keys
        ]
        return f"the example keeps all bounds in {sum(kept)} variants"
    return _OTHERWISE.get(question.kind, "a person reads it")
