"""What a receiver wrote and no packet brought gains no points, and a person looks at it."""

from dataclasses import replace

import pytest

from labs.definition import catalogue
from labs.grading.class_grading import not_carried_flags
from labs.measuring import references
from labs.measuring.measures import MeasuredRun, Values

VARIABLES = {"bw": 1e6, "delay": 0.02, "loss": 0.0, "amount": 300_000.0, "jitter": 0.0}
VARIABLES |= {"duration": 60.0}
FAST = {"server.transfer": 292.96875, "flow1.goodput_kbit_s": 940.0, "flow1.client_seconds": 2.6}


def values(carried: int, seconds: float = 2.5) -> Values:
    """Return the values of a run whose receiver wrote 300 kB."""
    written = {"written_bytes": 300_000, "written_seconds": seconds, "carried_bytes": carried}
    return {"own": FAST | {f"flow1.{name}": value for name, value in written.items()}}


@pytest.mark.parametrize(("carried", "stages"), [(300_000, 4), (330_000, 4), (299_999, 0), (0, 0)])
def test_only_what_packets_brought_passes_a_test(carried: int, stages: int) -> None:
    lab = catalogue.find("reliable_transport")
    run = MeasuredRun((values(carried),))
    result = references.tested_program(lab, lab.question("transport"), run, VARIABLES)
    assert (len(result.passed), result.not_carried) == (stages, not stages)
    assert bool(result.score) is bool(stages)


def test_the_reason_and_the_flag_have_the_figures() -> None:
    lab = catalogue.find("reliable_transport")
    run = MeasuredRun((values(12, 0.019),))
    result = references.tested_program(lab, lab.question("transport"), run, VARIABLES)
    right = replace(result, not_carried=False)
    (tried, repeated) = not_carried_flags({"transport": [right, result]}, {"own": [values(7)]})
    assert tried.kind == repeated.kind == "not carried"
    assert tried.text.startswith("transport, network 2: flow1: its receiver wrote 300,000 bytes")
    assert "in 0.019 s, and packets brought 12 bytes until then" in tried.text
    assert repeated.text.startswith("Run own: flow1: ")
