"""Why published rows differ: each reason belongs to a row, and is the first that fits it."""

import re

import pytest

from experiments.study.catalogue import catalogue
from experiments.study.published import published_study, reason, targets

REASONS = [
    (named.name, pattern, text)
    for named in catalogue()
    for pattern, text in published_study(named.name).reasons
]
ROWS = [(target.experiment, f"{target.where}: {target.quantity}") for target in targets(quick=True)]


@pytest.mark.parametrize("entry", REASONS, ids=lambda entry: f"{entry[0]}, {entry[1]}")
def test_a_reason_is_the_first_that_fits_a_published_row(entry: tuple[str, str, str]) -> None:
    experiment, pattern, text = entry
    fitting = [row for name, row in ROWS if name == experiment and re.search(pattern, row)]
    assert any(reason(experiment, row) == text for row in fitting), (
        "no published row has this reason"
    )


def test_chance_explains_reno_and_not_exp_under_delay_and_loss() -> None:
    """30 seeds of Reno hold the published number; the row of exp agrees and has no reason."""
    rows = {
        cc: next(row for _, row in ROWS if f"500 ms delay and 5 % loss, {cc}, 1 stream" in row)
        for cc in ("reno", "exp")
    }
    assert reason("custom_cc", rows["reno"]).startswith("Chance")
    assert reason("custom_cc", rows["exp"]) == ""
