"""Questions that ask for thinking: predictions, evidence, designs; and what points are for."""

import json
import random
from dataclasses import replace
from pathlib import Path
from statistics import mean
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

from labs.commands import lab as lab_commands
from labs.definition import answers as sheets
from labs.definition import catalogue
from labs.definition import runs as lab_runs
from labs.definition.assignment import ANSWERS, Assignment, nominal_variant, variant
from labs.definition.key import Key, key_module
from labs.definition.spec import Bound, LabRun, LabSpec, Question, Range
from labs.definition.written import parse_frame
from labs.grading.case import Verdict
from labs.grading.inspection import wanted
from labs.grading.marking import MOST_TOLERANCE, Marker, marker_of
from labs.grading.open_questions import expected
from labs.grading.shared_work import similar_sentences
from labs.instructor.lint import MOST_COPIED
from labs.instructor.preview import mix_ups, unanswered
from labs.measuring.measures import MeasuredRun
from labs.student.hand_in import check, pack
from labs.student.handout import start
from labs.student.runs import runs_to_make
from tests.labs.conftest import COURSE
from tests.labs.kinds_of_students import KINDS_OF_STUDENTS, falling, tried, unevenness
from tests.labs.made_measurements import LABS, runs_of
from topologies.errors import UsageError

_VARIANTS = 50
_TRIES = 4
"""The hasty student errs in another quarter of the questions in each of as many."""


@pytest.mark.parametrize(
    ("text", "frames", "among"),
    [
        ("12", {12: 0.5}, True),
        ("#12", {12: 0.5}, True),
        ("Frame 1,234", {1234: 0.5}, True),
        ("No. 12", {13: 0.5}, False),
        ("0.5 s", {12: 0.50004}, True),
        ("500 ms", {12: 0.5}, True),
        ("0.51 s", {12: 0.5}, False),
        ("line 7", {7: 0.0}, True),
    ],
)
def test_evidence_is_a_number_or_a_time(text: str, frames: dict[int, float], among: bool) -> None:
    assert parse_frame(text).among(frames) is among


@pytest.mark.parametrize("text", ["", "the third", "5 kbit/s", "-3", "1.5", "12 and 13"])
def test_what_names_no_frame_is_said_to_name_none(text: str) -> None:
    with pytest.raises(ValueError, match="names no frame"):
        parse_frame(text)


def marks(lab: LabSpec, key: Key, answers: dict[str, str], recorded: dict[str, str]) -> dict:
    marker = Marker(lab, key, {}, {}, {}, {})
    given = {name: [text] for name, text in answers.items()}
    known = {name: [text] for name, text in recorded.items()}
    return {mark.question: mark for mark in replace(marker, recorded=known).marks(given)}


def test_evidence_is_right_by_the_own_run_and_known_mistakes_are_named(sack: LabSpec) -> None:
    key = Key(
        frames={"timeout_frame": {40: 2.5, 90: 7.0}},
        wrong_frames={"timeout_frame": {"fast": {33: 2.0}, "first_copy": {20: 1.0}}},
    )
    for text, verdict, points in (
        ("40", "right", 5),
        ("7.0 s", "right", 5),
        ("33", "mistake", 0),
        ("41", "wrong", 0),
        ("somewhere", "unreadable", None),
    ):
        mark = marks(sack, key, {"timeout_frame": text}, {})["timeout_frame"]
        assert (mark.verdict, mark.points) == (verdict, points), text
    assert marks(sack, Key(), {"timeout_frame": "40"}, {})["timeout_frame"].points is None


def test_feedback_says_what_a_wrong_frame_is(sack: LabSpec) -> None:
    prefix = "frame.h1-eth0"
    seen = {f"{prefix}.with_blocks.41": 3.0, f"{prefix}.ece.41": 3.0, f"{prefix}.syn.1": 0.0}
    run = MeasuredRun(({"sack_off": seen},))
    key = Key(frames={"timeout_frame": {40: 2.5}})
    marker = replace(marker_of(sack, key, {}, nominal_variant(sack)), runs={"sack": run})

    def note(text: str) -> str:
        marks = marker.marks({"timeout_frame": [text]})
        return next(mark.note for mark in marks if mark.question == "timeout_frame")

    both = "This frame is an ACK with SACK blocks, and an ACK that reports a mark: ECE."
    assert note("41") == note("3.0 s") == both
    assert note("1") == "This frame is a SYN." and note("40") == ""
    assert note("50").startswith("This frame is ordinary")
    broken_off = replace(marker, runs={"sack": MeasuredRun(({},))})
    assert broken_off.marks({"timeout_frame": ["41"]})


def test_a_line_is_not_called_a_frame(sack: LabSpec) -> None:
    line = catalogue.find("retransmission").question("cut_line")
    assert expected(line, Key(frames={line.id: {7: 1.5}})) == "line 7 (1.5 s)"
    frame = sack.question("timeout_frame")
    assert expected(frame, Key(frames={frame.id: {7: 1.5}})) == "frame 7 (1.5 s)"


def test_a_prediction_earns_its_points_for_being_made_before_the_run(sack: LabSpec) -> None:
    for option in ("many_fewer", "alike", "more"):
        mark = marks(sack, Key(), {}, {"predict_timeouts": option})["predict_timeouts"]
        assert (mark.verdict, mark.points) == ("given", 0)
    late = marks(sack, Key(), {"predict_timeouts": "more"}, {})["predict_timeouts"]
    assert (late.verdict, late.points) == ("late", 0)
    short = marks(sack, Key(), {}, {"predict_why": "because"})["predict_why"]
    assert short.points == 0


def test_each_bound_of_a_design_earns_its_share() -> None:
    lab = catalogue.find("fairness")
    measured = {"queue": {"jain": 0.99, "rate": 95.0, "trip": 120.0}}
    mark = marks(lab, Key(measured=measured), {"queue": "as it was run"}, {})["queue"]
    assert mark.points == 0.67 and mark.verdict == "part" and "120 ms, not kept" in mark.note
    assert marks(lab, Key(), {"queue": "as it was run"}, {})["queue"].points == 0


def test_a_model_answer_has_the_values_of_the_own_run(sack: LabSpec, key: Key) -> None:
    model = Marker(sack, key, {}, {}, {}, {}).model(sack.question("why"))
    assert "silent for 53.87 s in all, in which 85 time-outs expired" in model
    assert "{" not in model


def test_a_run_waits_for_its_prediction_which_is_then_kept(assignment: Assignment) -> None:
    with pytest.raises(UsageError, match="waits for your prediction 'predict_timeouts'"):
        next(runs_to_make(assignment))
    sheet = assignment.folder / ANSWERS
    text = sheet.read_text().replace('predict_timeouts = ""', 'predict_timeouts = "more"')
    reason = 'predict_why = "I think that it knows less than before"'
    sheet.write_text(text.replace('predict_why = ""', reason))
    assert next(runs_to_make(assignment)).name == "sack"
    sheet.write_text(sheet.read_text().replace('"more"', '"alike"'))
    assert next(runs_to_make(assignment)).name == "sack"
    assert sheets.read_predictions(assignment.folder, assignment.lab)["predict_timeouts"] == [
        "more"
    ]
    findings = {finding.where: finding.text for finding in check(assignment)}
    assert "changed since it was recorded" in findings["predict_timeouts"]


@pytest.mark.parametrize("content", ["", "[]", "{", '{"predict_why": 3}', "\x00", '{"a": "b"}'])
def test_a_spoilt_record_of_predictions_is_none(
    sack: LabSpec, tmp_path: Path, content: str
) -> None:
    (tmp_path / sheets.PREDICTIONS).write_text(content)
    assert sheets.read_predictions(tmp_path, sack) == {}
    answers = {"predict_timeouts": ["alike"], "predict_why": ["it is what I do expect of it"]}
    sheets.record(tmp_path, sack, sack.runs[0], answers)
    assert json.loads((tmp_path / sheets.PREDICTIONS).read_text())["predict_timeouts"] == "alike"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("delay=80ms loss=1%", "one setting is wanted"),
        ("queue=5", "'queue' cannot be chosen"),
        ("loss=99%", "loss cannot be '99%'"),
        ("less", "'less' cannot be chosen"),
        ("loss=1% loss=2%", "one setting is wanted"),
    ],
)
def test_only_what_the_lab_offers_can_be_chosen(sack: LabSpec, text: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        sheets.chosen_in(sack, sack.runs[1], {"change": [text]})
    assert sheets.parts_of(sack, {"change": [text]}, None).settings == {}


def test_a_choice_takes_the_place_of_what_was_drawn(sack: LabSpec) -> None:
    own = sheets.parts_of(sack, {"change": ["loss = 1%"]}, None)
    texts = lab_runs.settings(sack.runs[1], variant(COURSE, sack, "ann").values, own)
    assert [text for text in texts if text.startswith("loss=")] == ["loss=1%"]


def test_a_fault_is_run_and_not_told(sack: LabSpec) -> None:
    faults = Range("fault", ("loss=30%",))
    lab = replace(sack, varies=(*sack.varies, faults))
    run = LabRun("sack", "sack", ("duration=90s",), ("bw", "fault"))
    own_variant = variant(COURSE, lab, "ann")
    assert "loss=30%" in lab_runs.settings(run, own_variant.values)
    assert (
        lab_runs.combination_of(run, own_variant, sheets.OwnParts()).parameters.loss.base
        == 30 * 10**8
    )
    assert "loss=30%" not in lab_runs.settings(run, lab_runs.told(lab, own_variant).values)
    assert "fault.loss" in lab_runs.variables_of(lab, own_variant)


def test_a_rule_in_seconds_is_seen_on_the_students_network(tmp_path: Path) -> None:
    lab = catalogue.find("first_look")
    assignment = start(lab, variant(COURSE, lab, "ann"), tmp_path / "ann")
    delay = dict(assignment.variant.values)["delay"].removesuffix("ms")
    sheet = assignment.folder / ANSWERS
    rule = sheet.read_text().replace('trip_rule = ""', 'trip_rule = "2000 * delay within 5%"')
    sheet.write_text(rule)
    findings = {finding.where: finding for finding in check(assignment)}
    text = f"on your network of run first it gives {2 * int(delay)} ms"
    assert findings["trip_rule"].text == text and not findings["trip_rule"].wrong


def test_a_misspelt_question_is_named_with_the_right_one(assignment: Assignment) -> None:
    (assignment.folder / ANSWERS).write_text('[answers]\ngoodput_of = "231 kbit/s"\nzzz = "1"\n')
    findings = {finding.where: finding.text for finding in check(assignment)}
    assert findings["goodput_of"] == "no question has this name; is goodput_off meant?"
    assert findings["zzz"] == "no question has this name"
    assert sheets.read_sheet(assignment.folder / ANSWERS, assignment.lab)["goodput_off"] == []


def test_a_module_is_packed_that_no_answer_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs cannot be repeated without it."""
    lab = catalogue.find("own_congestion_control")
    assignment = start(lab, variant(COURSE, lab, "ann"), tmp_path / "ann")
    lab_runs.example_module(assignment.folder)
    monkeypatch.setattr("labs.definition.runs.run_folder", lambda *_: tmp_path)
    assert lab_runs.MODULE in ZipFile(pack(assignment)).namelist()


def test_packing_names_blanks_and_misspelt_questions(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labs.student.hand_in.pack", lambda *_: assignment.folder / ANSWERS)
    (assignment.folder / ANSWERS).write_text('[answers]\ngoodput_of = "231 kbit/s"\n')
    lines = CliRunner().invoke(lab_commands, ["pack", str(assignment.folder)]).output.splitlines()
    assert lines[0].startswith("Not answered: ") and "goodput_off" in lines[0]
    assert "goodput_of: no question has this name; is goodput_off meant?" in lines


def test_a_question_of_a_kind_has_what_the_kind_needs() -> None:
    with pytest.raises(UsageError, match="prediction needs 'before'"):
        Question("guess", "prediction", "What?", 1, "so")
    with pytest.raises(UsageError, match="evidence needs 'capture'"):
        Question("frame", "evidence", "Which?", 1, "so", run="sack")
    with pytest.raises(UsageError, match="only design can have 'bounds'"):
        Question("rate", "number", "How fast?", 1, "so", bounds=(Bound("a", "A"),))


@pytest.mark.parametrize("name", catalogue.names())
def test_what_tools_and_files_print_earns_little(name: str) -> None:
    lab = catalogue.find(name)
    assert lab.copied <= MOST_COPIED * lab.points
    kinds = {question.kind for question in lab.questions}
    assert {"prediction", "text"} <= kinds and {"evidence", "design", "program"} & kinds
    assert "graph" in kinds or name == "first_look" or "program" in kinds


@pytest.mark.parametrize("name", LABS)
def test_points_follow_thinking_in_every_variant(name: str) -> None:
    """Over made-up runs; tests/labs/test_variants.py does it over true ones."""
    lab = catalogue.find(name)
    chance = random.Random(name)
    variants = [tried(_marker(lab, chance), _TRIES) for _ in range(_VARIANTS)]
    assert all(each.in_order for each in variants), [each.points for each in variants]
    assert mean(each.ordered for each in variants) >= 0.95
    assert [kind.name for kind in KINDS_OF_STUDENTS] == list(variants[0].points)
    assert unevenness(variants)["careful"] == 0


def test_equal_points_are_no_order() -> None:
    assert falling([3, 2, 1]) and not falling([3, 3, 1]) and not falling([1, 2])


def test_a_mistake_that_cannot_be_told_from_the_right_answer_is_named(
    sack: LabSpec, key: Key
) -> None:
    alike = replace(key, mistakes={"goodput_off": {"other_condition": 235.0, "link": 1000.0}})
    tolerance = {each.id: MOST_TOLERANCE for each in sack.questions}
    assert mix_ups(Marker(sack, alike, tolerance, {}, {}, {})) == ["goodput_off.other_condition"]
    odd = replace(key, numbers={**key.numbers, "timeouts_on": -1.0})
    assert "timeouts_on" in unanswered(Marker(sack, odd, {}, {}, {}, {}))


def _marker(lab: LabSpec, chance: random.Random) -> Marker:
    """What marks a student whose runs measured something near the made-up values."""
    made = LABS[lab.name]
    values = {place: value * chance.uniform(0.9, 1.1) for place, value in made.shown.items()}
    module = key_module(lab.name)
    variables = lab_runs.variables_of(lab, variant(COURSE, lab, f"student{chance.random()}"))
    key: Key = module.key(runs_of(values), variables)
    pictures = {question.id: "" for question in lab.questions if question.kind == "graph"}
    whole = replace(key, **_made_up(lab, key, chance))
    return Marker(lab, whole, {}, module.DERIVED, variables, pictures)


def _made_up(lab: LabSpec, key: Key, chance: random.Random) -> dict:
    """Frames, options and measured bounds that the made-up runs do not give."""
    evidence = [each.id for each in lab.questions if each.kind == "evidence"]
    designs = [each for each in lab.questions if each.kind == "design"]
    choices = {
        each.id: key.choices.get(each.id) or {chance.choice(each.options).id}
        for each in lab.questions
        if each.kind in ("choice", "choices")
    }
    kept = {each.id: {bound.id: _kept(bound) for bound in each.bounds} for each in designs}
    frames = {name: {chance.randrange(1, 5000): 1.0} for name in evidence}
    return {"frames": frames, "choices": choices, "measured": kept}


def _kept(bound: Bound) -> float:
    return bound.most if bound.least == float("-inf") else bound.least


def test_sentences_that_are_nearly_alike_stand_side_by_side() -> None:
    texts = {
        "ann": "The sender was silent for nine seconds in all. I think so.",
        "ben": "In all the sender was silent for nine long seconds. Something else is here.",
        "eve": "Without blocks an acknowledgement names the first gap only, and nothing more.",
    }
    (pair,) = similar_sentences(texts)
    assert (pair.student, pair.other) == ("ann", "ben") and 0.7 < pair.share < 1
    assert similar_sentences({**texts, "ann": texts["eve"]}, texts["eve"]) == []


def test_every_verdict_has_its_words_on_every_page() -> None:
    assert {"given", "late", "right", "part", "mistake", "wrong"} <= {*Verdict}
    assert all(verdict.words for verdict in Verdict)


def test_what_was_predicted_is_a_file_of_the_hand_in() -> None:
    assert wanted(sheets.PREDICTIONS) and not wanted(f"elsewhere/{sheets.PREDICTIONS}")
    raw = "runs/sack/raw/seed-{}/sack_on/h1-eth0.pcap"
    assert wanted(raw.format(17)) and not wanted(raw.format("\u0661\u0667"))  # 17 in Arabic
