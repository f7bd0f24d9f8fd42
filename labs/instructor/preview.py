"""`tcplab lab preview`: handouts, keys, the spread of answers, and where the points go."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from analysis.rendering.page_files import write
from labs.definition import lab_catalogue, lab_runs
from labs.definition.answer_key import Key
from labs.definition.course import SELF_STUDY, Course, variant
from labs.definition.lab_spec import LabSpec
from labs.definition.question import Question
from labs.grading.marking import Marker
from labs.instructor.kinds_of_students import Points, spread_of_points
from labs.instructor.lint import lint
from labs.measuring.ranges import VariantRuns, carry_out
from labs.student.starting import handout_files
from labs.templates.rendering import markdown_page

_HANDOUTS = 3


@dataclass(frozen=True)
class LabPreview:
    """What was run for a preview: variants with their keys, and the seconds that it took."""

    lab: LabSpec
    carried: Sequence[VariantRuns]
    keys: Sequence[Key]
    seconds: float

    @property
    def markers(self) -> list[Marker]:
        """What would mark a student of each variant."""
        module = lab_catalogue.key_module(self.lab.name)
        pictures = {each.id: "" for each in self.lab.questions if each.kind == "graph"}
        return [
            Marker(
                self.lab,
                key,
                {},
                getattr(module, "DERIVED", {}),
                lab_runs.variables_of(self.lab, runs.variant),
                pictures,
            )
            for runs, key in zip(self.carried, self.keys, strict=True)
        ]


def preview(
    lab: LabSpec,
    variants: int,
    out: Path,
    course: Course = SELF_STUDY,
    workers: int | None = None,
) -> Path:
    """Run that many variants and write the page; returns it. Raises TcplabError if a run fails."""
    drawn = [variant(course, lab, f"student{number}") for number in range(1, variants + 1)]
    begun = time.monotonic()
    carried = carry_out(lab, drawn, out, workers)
    keys = [runs.key(lab) for runs in carried]
    found = LabPreview(lab, carried, keys, time.monotonic() - begun)
    text = "\n".join(_page(found))
    files = {"preview.html": markdown_page(f"{lab.title}: preview", text, "en", {})}
    for own_variant in drawn[:_HANDOUTS]:
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
    yield "\n## Five kinds of students\n\nPercent of the points, least to most over the variants.\n"
    yield "| kind | least | median | most |\n| --- | --- | --- | --- |"
    earned = spread_of_points(found.markers)
    for kind, points in earned.items():
        yield f"| {kind} | {min(points):.0f} | {median(points):.0f} | {max(points):.0f} |"
    everywhere = "in every variant" if order_of(earned) else "**not in every variant**"
    yield f"\nThey come in this order {everywhere}."
    yield "\n## The key of the first student\n"
    for number, question in enumerate(lab.questions, 1):
        answer = found.markers[0].expected(question) or question.rubric or "as it was given"
        yield f"{number}. {question.ask}  \n   **{answer}**"
    yield "\n## To correct\n"
    findings = [f"* {each.where}: {each.text}" for each in lint(lab)]
    yield "\n".join(findings) or "Nothing was found."


def _facts(found: LabPreview) -> Iterator[str]:
    lab = found.lab
    module = lab_catalogue.key_module(lab.name)
    shown = sum(bool(module.lesson(runs.runs)) for runs in found.carried)
    by_kind: Counter[str] = Counter()
    for question in lab.questions:
        by_kind["reading" if question.is_reading else question.kind] += question.points
    listed = ", ".join(f"{kind} {points}" for kind, points in by_kind.most_common())
    yield f"* The claim holds in {shown} of {len(found.carried)} variants."
    yield f"* Level {lab.level}, about {lab.minutes} minutes for a student."
    yield f"* Where the {lab.points} points go: {listed}."
    yield f"* All runs together took {found.seconds:.0f} s here; what was known is not run again."
    students = [runs.variant.student for runs in found.carried[:_HANDOUTS]]
    links = ", ".join(f"[{name}]({name}/handout.html)" for name in students)
    yield f"* Handouts: {links}."


def _spread(question: Question, keys: Sequence[Key]) -> str:
    """What the right answers are, over the variants."""
    if question.kind == "number":
        values = [key.numbers[question.id] for key in keys]
        return f"{min(values):.4g} to {max(values):.4g}, median {median(values):.4g}"
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
    return "as given" if question.kind == "prediction" else "a person reads it"


def order_of(points: Points) -> bool:
    """Whether in every variant the kinds of students come in their order."""
    return all(
        list(row) == sorted(row, reverse=True) and len(set(row)) == len(row)
        for row in zip(*points.values(), strict=True)
    )
