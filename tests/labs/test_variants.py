"""Variants of each lab, really run: the claim, the order of five kinds of students, evenness."""

from __future__ import annotations

from pathlib import Path

import pytest

from labs.definition import catalogue
from labs.definition.forecast import read_rule, share_of
from labs.instructor.autopilot import MOST_COPIED, MOST_GUESSED
from labs.instructor.preview import run_variants, unanswered
from labs.measuring.measures import MeasuredRun
from tests.labs.kinds_of_students import tried, unevenness

MOST_UNEVEN = 5.0
"""Percent of the points that a variant may give over another to the same kind of student."""

_TRIP = "(2 * delay + {} * 8 * 1514 / bw) * 1000 within 20%"
_SHAPED = "(1.5 / shape if shape < 1 else 0.65 * queue)"
RULES = {
    "ecn_and_red": {"trip_rule": (_TRIP.format("(queue / 6 + 4)"), _TRIP.format("queue"))},
    "bufferbloat_home": {"ping_rule": (_TRIP.format(_SHAPED), _TRIP.format("0.65 * queue"))},
}
"""Rules of forecasts: one that understands the network, and one that is wrong about it."""


_NAMES = [
    pytest.param(name, marks=[pytest.mark.long] if name == "reordering" else [])
    for name in catalogue.names()
]


@pytest.mark.virtual
@pytest.mark.parametrize("name", _NAMES)
def test_variants_show_the_claim_and_are_even(
    name: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """One of each lab takes a minute or two; fifty, `--variants 50`, take hours."""
    variants = pytestconfig.getoption("--variants")
    found = run_variants(catalogue.find(name), variants, tmp_path, workers=1)
    drawn = [runs.variant.values for runs in found.carried]
    wrong = [values for values, shown in zip(drawn, found.shown, strict=True) if not shown]
    assert wrong == [], "the claim does not hold"
    assert [
        (values, unanswered(each))
        for values, each in zip(drawn, found.markers, strict=True)
        if unanswered(each)
    ] == []
    assert found.copied <= MOST_COPIED and found.guessed <= MOST_GUESSED
    by_variant = [tried(marker) for marker in found.markers]
    assert [
        values for values, each in zip(drawn, by_variant, strict=True) if not each.in_order
    ] == []
    assert max(unevenness(by_variant).values()) <= MOST_UNEVEN
    for question, (reference, misled) in RULES.get(name, {}).items():
        results = found.hidden[question]
        assert share_of(read_rule(reference), results) >= 0.6
        assert share_of(read_rule(misled), results) <= 0.1
    if name == "sack":
        for carried in found.carried:
            check_frames_of_timeouts(carried.runs["sack"])


def check_frames_of_timeouts(run: MeasuredRun) -> None:
    """Each is one that the kernel counted, which counts repeated SYNs as well."""
    for condition in ("sack_off", "sack_on"):
        frames = run.frames(f"{condition}/h1-eth0", "timeout")
        repeated = len(run.frames(f"{condition}/h1-eth0", "syn")) - 1
        counted = run(condition, "nstat.TcpExtTCPTimeouts")
        assert len(frames) + repeated == counted
