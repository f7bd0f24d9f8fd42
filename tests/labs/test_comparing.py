"""Runs beside the repeated ones: settings, versions, manifests and runs in real time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from labs.definition.assignment import variant
from labs.definition.key import Key
from labs.definition.spec import LabSpec
from labs.grading.case import Case
from labs.grading.class_grading import require_course
from labs.grading.comparison import compare, other_settings, version_sentence
from labs.grading.inspection import HandedInRun, InspectedHandIn
from labs.grading.intake import HandIn
from labs.grading.marked_case import check_bands
from tests.labs.conftest import COURSE
from topologies.foundation.errors import UsageError

FILES = {"seed-1/sack_on/h1-eth0.pcap": "aa", "seed-1/sack_on/flow1.server.txt": "bb"}
RECORDS = [{"values": {"sack_on": {"server.rate": 1.0}}, "files": FILES}]
OURS = {"kernel release": "7.2.12", "kernel": "k" * 64, "iperf": "2.1.8"}


@pytest.fixture
def case(sack: LabSpec) -> Case:
    own_variant = variant(COURSE, sack, "ann")
    handed_in = HandedInRun(
        "runs/sack",
        "virtual",
        dict(own_variant.values),
        [own_variant.seed],
        dict(OURS),
        dict(FILES),
        [],
    )
    return Case(
        HandIn(Path(), "ann"),
        Path(),
        InspectedHandIn(student="ann", course="tests", runs={"sack": handed_in}),
        variant=own_variant,
    )


def changed(case: Case, **fields: object) -> Case:
    case.inspected.runs["sack"] = replace(case.inspected.runs["sack"], **fields)  # type: ignore[arg-type]
    return case


def kinds(case: Case, sack: LabSpec) -> tuple[bool, set[str]]:
    return compare(case, sack.runs[0], RECORDS, COURSE), {flag.kind for flag in case.flags}


def test_equal_files_are_authentic_and_no_reason_to_look(case: Case, sack: LabSpec) -> None:
    assert (
        kinds(case, sack) == (False, set())
        and case.authentic == {"sack": True}
        and case.state == "graded"
    )


def test_another_file_is_looked_at_packet_by_packet(case: Case, sack: LabSpec) -> None:
    assert kinds(changed(case, files=FILES | {"seed-1/sack_on/flow1.server.txt": "cc"}), sack) == (
        True,
        set(),
    )
    assert case.authentic == {"sack": False}


def test_a_manifest_that_does_not_fit_is_said_also_of_authentic_files(
    case: Case, sack: LabSpec
) -> None:
    assert kinds(changed(case, misfits=["seed-1/sack_on/h1-eth0.pcap"]), sack) == (
        False,
        {"manifest"},
    )


def test_a_missing_run_is_marked_by_the_repeated_one(case: Case, sack: LabSpec) -> None:
    case.inspected.runs.clear()
    assert kinds(case, sack) == (False, {"no run"}) and case.runs["sack"] == [RECORDS[0]["values"]]


def test_another_link_or_seed_is_named(case: Case, sack: LabSpec) -> None:
    assert case.variant
    sentences = other_settings(sack.runs[0], case.variant, case.inspected.runs["sack"])
    assert sentences == []
    handed_in = replace(case.inspected.runs["sack"], parameters={"bw": "9mbit"}, seeds=[5])
    sentences = other_settings(sack.runs[0], case.variant, handed_in)
    assert sentences[0].startswith("bw is 9mbit and should be") and sentences[1].startswith(
        "its seed is 5 and should be"
    )


def test_versions_explain_a_difference_or_do_not(case: Case) -> None:
    handed_in = case.inspected.runs["sack"]
    assert "versions do not explain it" in version_sentence(handed_in, OURS)
    other = version_sentence(replace(handed_in, origin=OURS | {"kernel release": "6.12.1"}), OURS)
    assert "may explain it" in other and "kernel release 6.12.1 and not 7.2.12" in other


def test_a_run_in_real_time_needs_a_look_unless_the_course_allows_it(
    case: Case, sack: LabSpec
) -> None:
    changed(case, testbed="native")
    assert compare(case, sack.runs[0], RECORDS, COURSE), (
        "its captures are compared with the repeated ones"
    )
    assert "real time" in {flag.kind for flag in case.flags}
    case.flags.clear()
    compare(case, sack.runs[0], RECORDS, replace(COURSE, native=True))
    assert "real time" not in {flag.kind for flag in case.flags}


def test_what_lies_outside_of_the_band_is_flagged(case: Case) -> None:
    case.bands = {"goodput_off": (200.0, 300.0), "factor": (1.0, 2.0)}
    check_bands(case, Key({"goodput_off": 450.0, "factor": 1.5}))
    assert [flag.text.partition(":")[0] for flag in case.flags] == ["goodput_off"]


def test_a_class_of_another_course_is_refused_before_anything_is_run(case: Case) -> None:
    require_course([case], COURSE)
    with pytest.raises(UsageError, match="--course"):
        require_course([case], replace(COURSE, name="another"))
