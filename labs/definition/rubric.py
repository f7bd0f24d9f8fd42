"""Items of a rubric, each with the share of the points that it earns."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from labs.definition.spec import Question

_SHARE = re.compile(r"(\d{1,3}) %:\s+")
_MISTAKE = re.compile(r"\s+(?=A common mistake: )")


@dataclass(frozen=True)
class RubricItem:
    """A part of a rubric, and the points that it earns."""

    text: str
    points: float


def rubric_items(question: Question) -> tuple[RubricItem, ...]:
    """Return the items of a rubric such as "40 %: names it. 60 %: explains it."."""
    _, *parts = _SHARE.split(_MISTAKE.split(question.rubric)[0])
    shares = [int(share) for share in parts[::2]]
    # Shares such as 33 % three times are thirds. Sums are rounded, so that all items earn all.
    whole = sum(shares) or 1
    counts = range(len(shares) + 1)
    upto = [round(question.points * sum(shares[:count]) / whole, 2) for count in counts]
    earned = (round(after - before, 2) for before, after in pairwise(upto))
    return tuple(
        RubricItem(text.strip(), points) for text, points in zip(parts[1::2], earned, strict=True)
    )


def common_mistakes(question: Question) -> list[str]:
    """Return the mistakes that a rubric names, as comments for students."""
    return _MISTAKE.split(question.rubric)[1:]
