"""Runs beside the repeated ones: settings, versions, manifests and runs in real time."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.run.verify import Difference
from labs.definition.assignment import variant
from labs.definition.key import Key
from labs.definition.spec import LabSpec
from labs.grading import comparison
from labs.grading.case import Case, FlagKind
from labs.grading.class_grading import outside_bands
from labs.grading.comparison import compare, has_doubtful_packets, other_settings, version_sentence
from labs.grading.inspection import HandedInRun, InspectedHandIn
from labs.grading.intake import HandIn
from labs.grading.opening import require_course
from labs.measuring.measures import values_of
from tests.labs.conftest import COURSE
from topologies.errors import UsageError

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
    case = compare(case, sack.runs[0], RECORDS, COURSE)
    return has_doubtful_packets(case, sack.runs[0]), {flag.kind for flag in case.flags}


def test_equal_files_are_authentic_and_no_reason_to_look(case: Case, sack: LabSpec) -> None:
    assert kinds(case, sack) == (False, set())
    equal = compare(case, sack.runs[0], RECORDS, COURSE)
    assert equal.authentic == {"sack": True} and equal.state == "graded"


def test_another_file_is_looked_at_packet_by_packet(case: Case, sack: LabSpec) -> None:
    other = changed(case, files=FILES | {"seed-1/sack_on/flow1.server.txt": "cc"})
    assert kinds(other, sack) == (True, set())
    assert compare(other, sack.runs[0], RECORDS, COURSE).authentic == {"sack": False}


def test_a_manifest_that_does_not_fit_is_said_also_of_authentic_files(
    case: Case, sack: LabSpec
) -> None:
    assert kinds(changed(case, misfits=["seed-1/sack_on/h1-eth0.pcap"]), sack) == (
        False,
        {"manifest"},
    )


def test_settings_are_looked_at_only_where_files_differ(case: Case, sack: LabSpec) -> None:
    assert kinds(changed(case, seeds=[99]), sack) == (False, set())
    others = FILES | {"seed-1/sack_on/flow1.server.txt": "cc"}
    assert kinds(changed(case, files=others), sack) == (True, {"other settings"})


CUT = Difference("h1-eth0.pcap", 7, 0.5, True, "it ends")
ANOTHER = Difference("h1-eth0.pcap", 8, 0.6, False, "another packet")


@pytest.mark.parametrize(
    ("differing", "text_file", "kind", "is_measured", "said"),
    [
        ([CUT], "bb", "cut short", False, "h1-eth0.pcap differs from packet 7 on"),
        ([CUT], "cc", "captures", True, "h1-eth0.pcap differs from packet 7 on"),
        ([CUT, ANOTHER], "bb", "captures", True, "it ends; h1-eth0.pcap differs from"),
        ([], "cc", "files", True, "flow1.server.txt is another file than the run gives"),
    ],
)
def test_a_run_that_differs_is_flagged_by_its_captures_first(
    case: Case,
    sack: LabSpec,
    monkeypatch: pytest.MonkeyPatch,
    differing: list[Difference],
    text_file: str,
    kind: FlagKind,
    is_measured: bool,
    said: str,
) -> None:
    own = {"sack_on": {"server.rate": 2.0}}

    def contained(_kind: object, function: Any, *arguments: object) -> object:
        if function is values_of:
            return own
        assert arguments[-1] == ["seed-1/sack_on/h1-eth0.pcap"]
        return differing

    monkeypatch.setattr(comparison, "contained_as", contained)
    changed(case, files=FILES | {"seed-1/sack_on/flow1.server.txt": text_file})
    case = comparison.settle(case, sack.runs[0], Path(), RECORDS, OURS)
    (flag,) = case.flags
    assert flag.kind == kind and said in flag.text
    assert (case.runs.get("sack") == [own["sack_on"]]) is is_measured


def test_a_missing_run_is_marked_by_the_repeated_one(case: Case, sack: LabSpec) -> None:
    case.inspected.runs.clear()
    assert kinds(case, sack) == (False, {"no run"})
    repeated = compare(case, sack.runs[0], RECORDS, COURSE)
    assert repeated.runs["sack"] == [RECORDS[0]["values"]]


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
    other = version_sentence(replace(handed_in, origin=OURS | {"kernel": "j" * 64}), OURS)
    assert f"kernel {'j' * 24} and not {'k' * 24}." in other


def test_a_run_in_real_time_needs_a_look_unless_the_course_allows_it(
    case: Case, sack: LabSpec
) -> None:
    changed(case, testbed="native")
    are_compared, flags = kinds(case, sack)
    assert are_compared, "its captures are compared with the repeated ones"
    assert "real time" in flags
    allowed = compare(case, sack.runs[0], RECORDS, replace(COURSE, native=True))
    assert "real time" not in {flag.kind for flag in allowed.flags}


def test_what_lies_outside_of_the_band_is_flagged() -> None:
    bands = {"goodput_off": (200.0, 300.0), "factor": (1.0, 2.0)}
    (flag,) = outside_bands(bands, Key({"goodput_off": 450.0, "factor": 1.5}))
    assert flag.kind == "band" and flag.text.startswith("goodput_off:")


def test_a_class_of_another_course_is_refused_before_anything_is_run(case: Case) -> None:
    require_course([case], COURSE)
    with pytest.raises(UsageError, match="--course"):
        require_course([case], replace(COURSE, name="another"))
