"""Bands for runs in real time: between which values repeated runs of the same variant lie.

Such a run cannot be repeated, so a number in it is judged by the spread over seeds, widened by half
on each side.
"""

from __future__ import annotations

from collections.abc import Sequence

from labs.definition.answer_key import Key
from labs.definition.lab_spec import LabSpec
from labs.definition.written_numbers import in_digits
from labs.grading.case import Case

_FEWEST = 3  # values, of which a band can be made


def has_real_time(case: Case) -> bool:
    """Whether a run is said to be made in real time."""
    return any(run.testbed == "native" for run in case.inspected.runs.values())


def bands_of(lab: LabSpec, keys: Sequence[Key]) -> dict[str, tuple[float, float]]:
    """The band of each question that has a number in the keys of repeated runs."""
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
            case.flag(
                "band",
                f"{name}: {in_digits(value)} was captured, and repeated runs lie between"
                f" {in_digits(low)} and {in_digits(high)}.",
            )
