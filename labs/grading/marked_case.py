"""The key and the marks of one hand-in. Everything here runs in a limited process.

The key comes from the student's own packets, and the answers are the student's own words
(labs.measuring.contained).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import msgspec

from labs.definition import lab_catalogue, lab_runs
from labs.definition.answer_key import Key
from labs.definition.answer_sheet import Answers
from labs.definition.course import Variant
from labs.definition.lab_spec import LabSpec
from labs.grading.answer_mark import AnswerMark
from labs.grading.bands import bands_of, check_bands
from labs.grading.case import Case, Flag
from labs.grading.class_grading import RunValues, key_of
from labs.grading.marking import Marker


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


@dataclass(frozen=True)
class Ruler:
    """The numbers of a student's run, to hold another student's answers against."""

    key: Key
    variant: Variant


def mark(
    case: Case, lab: LabSpec, tolerance: Mapping[str, float], spread: Sequence[RunValues]
) -> Any:
    """Return a Marked as plain data. `spread` are the values of a real-time run's repetitions."""
    assert case.variant is not None
    known = list(case.flags)
    key = _key(case, lab)
    keys = [each for values in spread if (each := key_of(lab, values, case.variant))]
    case.bands = bands_of(lab, keys)
    check_bands(case, key)
    unreadable = any(flag.kind == "unreadable" for flag in case.flags)
    marker = replace(
        _marker(lab, key or Key(), tolerance, case.variant),
        pictures=case.inspected.pictures,
        bands=case.bands if unreadable else {},
        recorded=case.inspected.predictions,
        trials=case.trials,
    )
    marks = marker.marks(case.inspected.answers)
    flags = [flag for flag in case.flags if flag not in known]
    marked = Marked(marker.key, case.bands, flags, marks, marker.right_among(marks))
    return msgspec.to_builtins(marked, str_keys=True)


def fits(
    answers: Answers, lab: LabSpec, tolerance: Mapping[str, float], rulers: Sequence[Ruler]
) -> list[list[str]]:
    """Return, for each ruler, the numbers among the answers that are right by it."""
    markers = (_marker(lab, ruler.key, tolerance, ruler.variant) for ruler in rulers)
    return [sorted(marker.right(answers)) for marker in markers]


def _key(case: Case, lab: LabSpec) -> Key | None:
    """The key by what was handed in, else by the repeated run."""
    assert case.variant is not None
    key = key_of(lab, case.runs, case.variant)
    if key is None:
        case.flag(
            "unreadable",
            "What was handed in gives no key; the answers are marked by the repeated run.",
        )
        key = key_of(lab, case.repeated, case.variant)
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


def _marker(lab: LabSpec, key: Key, tolerance: Mapping[str, float], variant: Variant) -> Marker:
    derived = getattr(lab_catalogue.key_module(lab.name), "DERIVED", {})
    return Marker(lab, key, tolerance, derived, lab_runs.variables_of(lab, variant), {})
