"""Variants of each lab, really run: the claim, the order of five kinds of students, evenness."""

from __future__ import annotations

from pathlib import Path

import pytest

from labs.definition import catalogue
from labs.instructor.preview import run_variants
from labs.instructor.students import unevenness

MOST_UNEVEN = 5.0
"""Percent of the points that a variant may give over another to the same kind of student."""


@pytest.mark.virtual
@pytest.mark.parametrize("name", catalogue.names())
def test_variants_show_the_claim_and_are_even(
    name: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """One of each lab takes a minute or two; fifty, `--variants 50`, take hours."""
    variants = pytestconfig.getoption("--variants")
    found = run_variants(catalogue.find(name), variants, tmp_path, workers=1)
    drawn = [runs.variant.values for runs in found.carried]
    wrong = [values for values, shown in zip(drawn, found.shown, strict=True) if not shown]
    assert wrong == [], "the claim does not hold"
    tried = list(zip(drawn, found.tried, strict=True))
    assert [values for values, each in tried if not each.in_order] == []
    assert [(values, each.unanswered) for values, each in tried if each.unanswered] == []
    assert max(unevenness(found.tried).values()) <= MOST_UNEVEN
