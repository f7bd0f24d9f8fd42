"""Variants of a lab that were run before it is given out: their keys, and what they are worth."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean

from labs.definition import lab_catalogue, lab_runs
from labs.definition.answer_key import Key
from labs.definition.course import SELF_STUDY, Course, variant
from labs.definition.lab_spec import LabSpec
from labs.grading.marking import Marker
from labs.instructor.evenness import TriedVariant, tried, unevenness
from labs.measuring.ranges import VariantRuns, carry_out


@dataclass(frozen=True)
class LabPreview:
    """What was run for a preview: variants with their keys, and the seconds that it took."""

    lab: LabSpec
    carried: Sequence[VariantRuns]
    keys: Sequence[Key]
    seconds: float

    @cached_property
    def tried(self) -> list[TriedVariant]:
        """What five kinds of students earn in each variant."""
        return [tried(marker) for marker in self.markers]

    @property
    def shown(self) -> list[bool]:
        """In which variants the claim holds."""
        module = lab_catalogue.key_module(self.lab.name)
        return [bool(module.lesson(runs.runs)) for runs in self.carried]

    @property
    def ordered(self) -> float:
        """In which share of all tries the kinds of students come in their order."""
        return mean(each.ordered for each in self.tried)

    @property
    def summary(self) -> str:
        """Claim, order and evenness in three sentences."""
        variants, ordered = len(self.carried), sum(each.in_order for each in self.tried)
        most = max(unevenness(self.tried).values())
        return (
            f"The claim holds in {sum(self.shown)} of {variants} variants. Five kinds of students"
            f" come in their order in {ordered}, and in {100 * self.ordered:.1f} % of all tries."
            f" For each kind, the best variant gives at most {most:.1f} % of the points more than"
            " the worst."
        )

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


def run_variants(
    lab: LabSpec,
    variants: int,
    out: Path,
    course: Course = SELF_STUDY,
    workers: int | None = None,
) -> LabPreview:
    """Run that many variants; `out` remembers what was run. Raises TcplabError if a run fails."""
    drawn = [variant(course, lab, f"student{number}") for number in range(1, variants + 1)]
    begun = time.monotonic()
    carried = carry_out(lab, drawn, out, workers)
    keys = [runs.key(lab) for runs in carried]
    return LabPreview(lab, carried, keys, time.monotonic() - begun)
