"""Whether settings make the lab's kernel do what a kernel of a study's time does, from both runs.

Their seeds draw other losses, so the medians are compared and no pairs. Two intervals of 95 % that
do not meet are seldom chance: of six runs each, all of one kernel are then above all of the other,
which happens in 1 of 462 cases if nothing differs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from analysis.records.published_row import PublishedRow
from analysis.statistics.judgement import Judged
from analysis.statistics.verdict import TOLERANCE, Ours

ImitationWord = Literal["larger", "smaller", "not shown to differ", "not judged"]
LARGER: ImitationWord = "larger"
SMALLER: ImitationWord = "smaller"
UNSHOWN: ImitationWord = "not shown to differ"
UNJUDGED: ImitationWord = "not judged"


@dataclass(frozen=True)
class Imitation:
    """One figure as the settings of its time gave it and as the kernel of its time did."""

    row: PublishedRow
    settings: Ours
    kernel: Ours

    @property
    def ratio(self) -> float | None:
        """What the settings gave, divided by what the kernel gave; None if one is not above 0."""
        both = self.settings.center, self.kernel.center
        return both[0] / both[1] if min(both) > 0 else None

    @property
    def word(self) -> ImitationWord:
        """What the settings gave, beside the kernel; not judged with fewer than six runs."""
        if self.settings.middle is None or self.kernel.middle is None:
            return UNJUDGED
        near = self.ratio is not None and abs(self.ratio - 1) <= TOLERANCE
        if near or self.settings.middle.meets(self.kernel.middle):
            return UNSHOWN
        return LARGER if self.settings.center > self.kernel.center else SMALLER


def imitations(rows: Iterable[Judged]) -> tuple[Imitation, ...]:
    """Every figure that both gave, each once: several published numbers may be of one setting."""
    return tuple({(each.row.period, each.row.period_kernel): each for each in _both(rows)}.values())


def _both(rows: Iterable[Judged]) -> Iterator[Imitation]:
    for judged in rows:
        if judged.period and judged.period_kernel:
            yield Imitation(judged.row, judged.period, judged.period_kernel)


def imitation_sentence(found: Iterable[Imitation], kernel: str) -> str:
    """How many of the figures the settings give as the kernel does; empty if there are none."""
    words = Counter(each.word for each in found)
    judged = sum(words.values()) - words[UNJUDGED]
    if not judged:
        return ""
    other = words[LARGER] + words[SMALLER]
    if not other:
        return (
            f"In none of {judged} figures they are shown to give anything but Linux {kernel} does."
        )
    return (
        f"In {other} of {judged} figures they give something else than Linux {kernel} does"
        f" ({words[LARGER]} larger, {words[SMALLER]} smaller): they do not stand for that kernel."
    )
