"""The key and the marks of one hand-in, computed in a limited process.

The key comes from the student's packets, and the answers are the student's words
(labs.measuring.contained). A run in real time cannot be repeated. Its numbers are judged by a band:
the spread over seeds of repeated runs, widened by half on each side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite

from labs.definition.answers import Answers
from labs.definition.assignment import Variant
from labs.definition.key import Key
from labs.definition.spec import LabSpec
from labs.definition.written import in_digits
from labs.grading.case import AnswerMark, Case, Flag, FlagKind
from labs.grading.class_grading import RunValues, key_of
from labs.grading.marking import marker_of
from labs.measuring.measures import MeasuredRun
from labs.measuring.references import HiddenResults

_FEWEST = 3  # values, of which a band can be made


def has_real_time(case: Case) -> bool:
    """Return whether a run is said to be made in real time."""
    return any(run.testbed == "native" for run in case.inspected.runs.values())


def bands_of(lab: LabSpec, keys: Sequence[Key]) -> dict[str, tuple[float, float]]:
    """Return the band of each question that has a number in the keys of repeated runs."""
    bands = {}
    for question in lab.questions:
        values = [key.numbers[question.id] for key in keys if question.id in key.numbers]
        if len(values) >= _FEWEST:
            bands[question.id] = _band(values)
    return bands


def _band(values: Sequence[float]) -> tuple[float, float]:
    margin = 0.5 * (max(values) - min(values)) + 0.05 * max(map(abs, values))
    return min(values) - margin, max(values) + margin


def check_bands(case: Case, key: Key | None) -> None:
    """Flag what was captured in real time and lies outside of all repeated runs of the variant."""
    for name, (low, high) in case.bands.items():
        value = key.numbers.get(name) if key else None
        if value is not None and not low <= value <= high:
            between = f"between {in_digits(low)} and {in_digits(high)}"
            text = f"{name}: {in_digits(value)} was captured, and repeated runs lie {between}."
            case.flag(FlagKind.BAND, text)


@dataclass(frozen=True)
class Marked:
    """The marks of a hand-in, the key that they come from, and new flags.

    `right` are the numbers that are right by the key of the student's own run.
    """

    key: Key
    bands: dict[str, tuple[float, float]]
    flags: list[Flag]
    marks: list[AnswerMark]
    right: set[str]


Ruler = tuple[Key, Variant]
"""The numbers of a student's run, to hold another student's answers against."""


def mark(
    case: Case,
    lab: LabSpec,
    tolerance: Mapping[str, float],
    spread: Sequence[RunValues],
    hidden: HiddenResults,
) -> Marked:
    """Return the marks of a hand-in. `spread` are the values of a real-time run's repetitions.

    `hidden` are the results of the networks of each forecast.
    """
    known = list(case.flags)
    key = _key(case, lab)
    keys = [each for values in spread if (each := key_of(lab, values, case.own_variant))]
    case.bands = bands_of(lab, keys)
    check_bands(case, key)
    unreadable = any(flag.kind == FlagKind.UNREADABLE for flag in case.flags)
    marker = replace(
        marker_of(lab, key or Key(), tolerance, case.own_variant),
        pictures=case.inspected.pictures,
        bands=case.bands if unreadable else {},
        recorded=case.inspected.predictions,
        trials=case.trials,
        hidden=hidden,
        tested=case.tested,
        runs={name: MeasuredRun(tuple(seeds)) for name, seeds in case.runs.items() if seeds},
    )
    marks = marker.marks(case.inspected.answers)
    flags = [flag for flag in case.flags if flag not in known]
    return Marked(marker.key, case.bands, flags, marks, marker.right_among(marks))


def fits(
    answers: Answers, lab: LabSpec, tolerance: Mapping[str, float], rulers: Sequence[Ruler]
) -> list[list[str]]:
    """Return, for each ruler, the numbers among the answers that are right by it."""
    markers = (marker_of(lab, key, tolerance, variant) for key, variant in rulers)
    return [sorted(marker.right(answers)) for marker in markers]


def _key(case: Case, lab: LabSpec) -> Key | None:
    """Return the key by what was handed in, else by the repeated run."""
    key = key_of(lab, case.runs, case.own_variant)
    if key is None:
        problem = "The files handed in give no key; the answers are marked by the repeated run."
        case.flag(FlagKind.UNREADABLE, problem)
        key = key_of(lab, case.repeated, case.own_variant)
    return _finite(key) if key else None


def _finite(key: Key) -> Key:
    """Without values that are no number, which packets may have been made to give."""
    return replace(
        key,
        numbers=_only_finite(key.numbers),
        mistakes={name: _only_finite(values) for name, values in key.mistakes.items()},
    )


def _only_finite(values: Mapping[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if isfinite(value)}
