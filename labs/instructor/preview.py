"""`tcplab lab preview`: variants of a lab run before it is given out.

The page shows handouts, keys, the spread of answers, where the points go, and how much of them can
be had without understanding: by copying, and by blind guessing. The autopilot copies what the
package's tools, its files and the student's assignment say: numbers, frames, options, an example of
a design, the value of the student's run as the rule of a forecast, and the package's programs.
Texts and pictures, which a person reads, count as wrong. A second one makes no run: it reasons from
the handout and the files of the package, ticks what is right, and knows the rules of textbooks.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import geometric_mean, mean, median

from analysis.rendering import write
from labs.definition.answers import examples_of
from labs.definition.assignment import SELF_STUDY, Course, variant
from labs.definition.forecast import names_in, read_rule, scored
from labs.definition.key import Key, key_module
from labs.definition.runs import NO_PARTS
from labs.definition.spec import LabSpec, Question
from labs.definition.written import in_digits
from labs.grading.marking import MOST_TOLERANCE, Marker, marker_of
from labs.instructor import lint
from labs.measuring.measures import Runs
from labs.measuring.ranges import VariantRuns, carry_hidden, carry_out, carry_programs
from labs.student.hand_in import LabFinding
from labs.student.handout import handout_files, handout_text
from labs.templates.rendering import markdown_page, render
from topologies.errors import UsageError
from topologies.notation import toml_file

_NO_REASON = "I expect that because it sounds better."


def copied_share(marker: Marker, runs: Runs) -> float:
    predicted = (each for each in marker.lab.questions if each.before)
    recorded = {each.id: [each.options[0].id if each.options else _NO_REASON] for each in predicted}
    answers = {each.id: _copied(marker, each, runs) for each in marker.lab.questions}
    return _earned(replace(marker, recorded=recorded), answers)


def _copied(marker: Marker, question: Question, runs: Runs) -> list[str]:
    name, key = question.id, marker.key
    match question.kind:
        case "number" if name in key.numbers:
            return [f"{key.numbers[name]:.6g} {question.unit}".strip()]
        case "evidence":
            return [str(number) for number in key.frames.get(name, {})][:1]
        case "choice" | "choices":
            return sorted(key.choices.get(name, ()))
        case "design":
            return [" ".join(examples_of(marker.lab, None).settings.get(question.run, ()))]
        case "forecast":
            condition, _, measure = question.value.partition("/")
            return [f"{runs[question.run](condition, measure):.6f} within 50%"]
    return []


def guessed_share(marker: Marker) -> float:
    """Return the share that guesses earn on average: any option, and one value as a rule."""
    choices = (each for each in marker.lab.questions if each.kind == "choice")
    options = sum(each.points / len(each.options) for each in choices)
    rules = {
        name: [f"{geometric_mean(result.truth for result in results):.6f} within 100%"]
        for name, results in marker.hidden.items()
        if results
    }
    return options / marker.lab.points + _earned(replace(marker, tested={}), rules)


_DATA = toml_file(Path(__file__).with_suffix(".toml"))
_TRIED_WIDTHS = (10, 25, 50, 100)


def read_share(marker: Marker) -> float:
    """Return the share that reading earns at most: right options, and the best rule of these."""
    right = {name: sorted(options) for name, options in marker.key.choices.items()}
    plain = replace(marker, tested={}, hidden={})
    rules = (_best_of_textbook(marker, each) for each in marker.lab.questions)
    return _earned(plain, right) + sum(rules) / marker.lab.points


def _best_of_textbook(marker: Marker, question: Question) -> float:
    """Return the points of the best rule, which may be a known mistake."""
    results = marker.hidden.get(question.id)
    if question.kind != "forecast" or not results:
        return 0.0
    best = 0.0
    for text in (*_DATA["textbook"], *(known.rule for known in question.mistakes)):
        for width in _TRIED_WIDTHS if names_in(text) <= results[0].variables.keys() else ():
            with suppress(UsageError):  # a rule that divides by a loss of zero has no value here
                rule = read_rule(f"{text} within {width}%")
                best = max(best, scored(rule, results).share)
    return question.points * best


def _earned(marker: Marker, answers: Mapping[str, list[str]]) -> float:
    marks = marker.marks(dict(answers))
    return sum(mark.points or 0.0 for mark in marks) / marker.lab.points


def lint_variants(preview: LabPreview) -> Iterator[LabFinding]:
    for runs, shown, marker in preview.variants:
        values = ", ".join(f"{name} {value}" for name, value in runs.variant.values)
        where = f"in the variant {values}"
        if not shown:
            yield LabFinding("claim", f"it does not hold {where}")
        for question in unanswered(marker):
            yield LabFinding(question, f"its answer is missing or not plausible {where}")
    for text, share, most in (
        ("copying what tools and files say", preview.copied, lint.MOST_COPIED),
        ("blind guessing", preview.guessed, lint.MOST_GUESSED),
        ("reading without a run", preview.read, lint.MOST_READ),
    ):
        if share > most:
            found = f"{text} earns {share:.0%}, and {float(most):.0%} should be the most"
            yield LabFinding("points", found)


@dataclass(frozen=True)
class LabPreview:
    """The runs of a preview: variants with their markers, and the seconds that it took."""

    lab: LabSpec
    carried: Sequence[VariantRuns]
    markers: Sequence[Marker]
    seconds: float

    @property
    def shown(self) -> list[bool]:
        return [bool(key_module(self.lab.name).lesson(runs.runs)) for runs in self.carried]

    @property
    def summary(self) -> str:
        return f"The claim holds in {sum(self.shown)} of {len(self.carried)} variants."

    @property
    def copied(self) -> float:
        return mean(copied_share(marker, runs.runs) for runs, _, marker in self.variants)

    @property
    def guessed(self) -> float:
        return mean(map(guessed_share, self.markers))

    @property
    def read(self) -> float:
        return mean(map(read_share, self.markers))

    @property
    def variants(self) -> Iterator[tuple[VariantRuns, bool, Marker]]:
        return zip(self.carried, self.shown, self.markers, strict=True)


def lenient_marker(lab: LabSpec, runs: VariantRuns) -> Marker:
    """Return the marker of a variant with the widest tolerance of grading. Raises TcplabError."""
    tolerance = {each.id: MOST_TOLERANCE for each in lab.questions}
    pictures = {each.id: "" for each in lab.questions if each.kind == "graph"}
    return replace(marker_of(lab, runs.key(lab), tolerance, runs.variant), pictures=pictures)


def mix_ups(marker: Marker) -> list[str]:
    """Return known mistakes, QUESTION.MISTAKE, whose value the marker takes for right."""
    return [
        f"{question.id}.{mistake}"
        for question in marker.lab.questions
        if question.kind == "number"
        for mistake, value in marker.key.mistakes.get(question.id, {}).items()
        if question.id in marker.right({question.id: [f"{value:.6g} {question.unit}".strip()]})
    ]


def unanswered(marker: Marker) -> list[str]:
    """Return questions that the runs do not answer, or answer with an implausible value."""

    def is_answered(question: Question) -> bool:
        if question.kind == "number":
            value = marker.key.numbers.get(question.id)
            return value is not None and question.low <= value <= question.high
        if question.kind == "evidence":
            return bool(marker.key.frames.get(question.id))
        return question.kind != "choice" or bool(marker.key.choices.get(question.id))

    return [each.id for each in marker.lab.questions if not is_answered(each)]


def run_variants(
    lab: LabSpec, variants: int, out: Path, course: Course = SELF_STUDY, workers: int | None = None
) -> LabPreview:
    """Run that many variants; `out` remembers what was run. Raises TcplabError if a run fails."""
    drawn = [variant(course, lab, f"student{number}") for number in range(1, variants + 1)]
    begun = time.monotonic()
    carried = carry_out(lab, drawn, out, workers)
    markers = [lenient_marker(lab, runs) for runs in carried]
    kinds = {question.kind for question in lab.questions}
    hidden = carry_hidden(lab, course, out, workers) if "forecast" in kinds else {}
    tested = carry_programs(lab, NO_PARTS, out, workers) if "program" in kinds else {}
    packaged = {name: [result for _, result in results] for name, results in tested.items()}
    markers = [replace(each, hidden=hidden, tested=packaged) for each in markers]
    return LabPreview(lab, carried, markers, time.monotonic() - begun)


_HANDOUTS = 3


def write_preview(found: LabPreview, out: Path) -> Path:
    lab, variants = found.lab, [runs.variant for runs in found.carried[:_HANDOUTS]]
    kinds = (kind for each in lab.questions for kind in [each.kind] * each.points)
    context = {
        "lab": lab,
        "found": found,
        "time": lint.working_time(lab, handout_text(lab, variants[0])),
        "words_a_minute": lint.WORDS_A_MINUTE,
        "by_kind": ", ".join(f"{kind} {points}" for kind, points in Counter(kinds).most_common()),
        "students": [each.student for each in variants],
        "spread": _spread,
        "keys": [marker.key for marker in found.markers],
        "mix_ups": mix_ups,
        "unanswered": unanswered,
        "wrong": [*lint.lint(lab), *lint_variants(found)],
    }
    text = render("preview.md.j2", context)
    files = {"preview.html": markdown_page(f"{lab.title}: preview", text, "en", {})}
    for own_variant in variants:
        handout = handout_files(lab, own_variant)
        files |= {f"{own_variant.student}/{name}": content for name, content in handout.items()}
    write(out, ((name, content.encode()) for name, content in files.items()), "lab preview")
    return out / "preview.html"


def _spread(question: Question, keys: Sequence[Key]) -> str:
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
    return str(_DATA["right"].get(question.kind, "a person reads it"))
