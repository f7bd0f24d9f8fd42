"""An instructor's hour: what lint finds, how hard a text is, and a lab of one's own."""

import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import get_args

import pytest
from click.testing import CliRunner

import labs
from experiments.study.catalogue import find
from labs.commands import lab as lab_commands
from labs.definition import catalogue
from labs.definition.answers import examples_of
from labs.definition.assignment import variant
from labs.definition.runs import combination_of
from labs.definition.spec import Kind, LabSpec
from labs.instructor.lint import FAR, HARDEST, MINUTES, lint, lix, working_time
from labs.instructor.preview import LabPreview, lenient_marker, lint_variants, run_variants
from labs.measuring.ranges import VariantRuns
from labs.student.handout import handout_text
from tests.labs.conftest import COURSE
from tests.labs.made_measurements import LABS, runs_of
from topologies.errors import UsageError

LANGUAGES = [
    (name, language)
    for name in catalogue.names()
    for language in catalogue.languages(catalogue.FOLDER / name)
]


@pytest.mark.parametrize(("name", "language"), LANGUAGES)
def test_lint_has_nothing_to_say_of_our_labs(name: str, language: str) -> None:
    assert [f"{each.where}: {each.text}" for each in lint(catalogue.find(name, language))] == []


@pytest.mark.parametrize(("name", "language"), LANGUAGES)
def test_a_translated_handout_has_no_english_network(name: str, language: str) -> None:
    lab = catalogue.find(name, language)
    own_variant = variant(COURSE, lab, "ann")
    handout = handout_text(lab, own_variant)
    own = examples_of(lab, Path("mine.c"))
    for run in lab.runs if language != catalogue.FIRST_LANGUAGE else ():
        assert combination_of(run, own_variant, own).spec.topology.diagram not in handout
        parameters = fields(find(run.experiment).parameters())
        assert not [each.name for each in parameters if each.metadata["meaning"][1:] in handout]


def changed(lab: LabSpec, name: str, **fields: object) -> LabSpec:
    questions = (
        replace(each, **fields) if each.id == name else each  # type: ignore[arg-type]
        for each in lab.questions
    )
    return replace(lab, questions=tuple(questions))


_MORE = "second with SACK than without"


@pytest.mark.parametrize(
    ("name", "fields", "sentence"),
    [
        ("goodput_off", {"how": "qdiscs.json of the port"}, "does not show how to read 'queues'"),
        ("timeouts_on", {"how": "left.sockets.jsonl"}, "in a file of left, which is no host"),
        ("why", {"ask": "Why is run `slow` slow?"}, "the run 'slow', which is never made"),
        ("factor", {"ask": "It is how many times the rate?"}, "ask for the larger"),
        ("graph", {"hints": ("One.",)}, "1 hints, and 2 steps are due"),
        ("compare", {"ask": f"Why did more data arrive in a {_MORE}?"}, "gives 'faster' away"),
        ("compare", {"ask": f"See: more data arrived in a {_MORE}. Why?"}, "gives 'faster' away"),
        ("goodput_on", {"points": 60}, "of the points are for what tools and files print"),
    ],
)
def test_lint_finds_what_is_wrong(
    sack: LabSpec, name: str, fields: dict[str, object], sentence: str
) -> None:
    assert any(sentence in each.text for each in lint(changed(sack, name, **fields)))


def test_lint_finds_the_variant_in_which_the_claim_does_not_hold(sack: LabSpec) -> None:
    shown, contradiction = LABS["sack"].shown, LABS["sack"].contradictions[0]
    carried = [
        VariantRuns(variant(COURSE, sack, name), runs_of(values))
        for name, values in (("ann", shown), ("ben", {**shown, **contradiction}))
    ]
    preview = LabPreview(sack, carried, [lenient_marker(sack, runs) for runs in carried], 0.0)
    claims = [each.text for each in lint_variants(preview) if each.where == "claim"]
    name, value = carried[1].variant.values[0]
    assert len(claims) == 1 and f"does not hold in the variant {name} {value}" in claims[0]


def test_hard_prose_has_a_higher_number() -> None:
    plain = "The cat sat. The dog ran. It was fun."
    hard = (
        "Notwithstanding considerable institutional heterogeneity, comprehensive"
        " interdepartmental reorganisation necessitates unprecedented coordination."
    )
    assert lix(plain) < 20 < HARDEST < lix(hard)


def test_minutes_are_those_of_words_and_points(sack: LabSpec) -> None:
    assert {*MINUTES} == {*get_args(Kind)}
    time = working_time(sack, "word " * 400)
    assert time.reading == 2 and time.questions == 83.0
    assert abs(sack.minutes - time.total) <= FAR * time.total < 120 - time.total
    findings = [each.text for each in lint(replace(sack, minutes=200))]
    assert any(text.startswith("200 are stated") for text in findings)


@pytest.fixture
def new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a new lab, next to the first of all labs."""
    for name in ("first_look", "sack"):
        (tmp_path / name).symlink_to(catalogue.FOLDER / name)
    monkeypatch.setattr(catalogue, "FOLDER", tmp_path)
    monkeypatch.setattr("labs.__path__", [*labs.__path__, str(tmp_path)])
    catalogue.find.cache_clear()
    sys.modules.pop("labs.my_lab.key", None)
    return catalogue.new_lab("my_lab")


def test_a_new_lab_has_two_files_and_passes(new: Path) -> None:
    assert sorted(file.name for file in new.iterdir()) == ["key.py", "lab.toml"]
    assert lint(catalogue.find("my_lab")) == []
    with pytest.raises(UsageError, match="there already"):
        catalogue.new_lab("my_lab")
    with pytest.raises(UsageError, match="cannot name a lab"):
        catalogue.new_lab("../lab")
    like = catalogue.new_lab("other", "first_look")
    assert (like / "text/de/background.md.j2").is_file()


@pytest.mark.parametrize(
    ("file", "old", "wrong", "where", "sentence"),
    [
        ("key.py", '"rate": run', '"rates": run', "key.py", "no question 'rates'. Is rate meant?"),
        ("key.py", 'runs["first"]', 'runs["frist"]', "key.py", "no 'frist'"),
        ("key.py", '"reno", "server', '"cubic", "server', "key.py", "no condition 'cubic'"),
        ("key.py", "server.rate", "server.rat", "key.py", "server.rat"),
        ("key.py", '"syn_ack"', '"synack"', "key.py", "no event 'synack'"),
        ("key.py", '"reno/h1-eth0", "syn"', '"reno/h3-eth0", "syn"', "key.py", "no 'h3-eth0'"),
        ("lab.toml", '"reno/h1-eth0"', '"reno/h9-eth0"', "answer", "captures no 'h9-eth0'"),
    ],
)
def test_lint_finds_names_that_do_not_exist(
    new: Path, file: str, old: str, wrong: str, where: str, sentence: str
) -> None:
    content = (new / file).read_text()
    assert old in content
    (new / file).write_text(content.replace(old, wrong))
    found = [each for each in lint(catalogue.find("my_lab")) if each.where == where]
    assert found and sentence in found[0].text and "\n" not in found[0].text


@pytest.mark.virtual
def test_a_new_lab_is_started_run_and_previewed(new: Path, tmp_path: Path) -> None:
    found = run_variants(catalogue.find("my_lab"), 1, tmp_path / "preview", workers=1)
    assert found.shown == [True] and list(lint_variants(found)) == []
    assert "asks with a packet called" in handout_text(found.lab, found.carried[0].variant)


def test_lint_is_a_command() -> None:
    result = CliRunner().invoke(lab_commands, ["lint", "sack"])
    assert (result.exit_code, result.output) == (0, "No mistakes found.\n")
    assert CliRunner().invoke(lab_commands, ["lint", "nonesuch"]).exit_code == 2


@pytest.mark.virtual
def test_a_preview_shows_key_and_spread(tmp_path: Path) -> None:
    words = ["preview", "first_look", "--variants", "2", "--out", str(tmp_path)]
    result = CliRunner().invoke(lab_commands, words)
    assert result.exit_code == 0, result.output
    page = (tmp_path / "preview.html").read_text()
    assert "The claim holds in 2 of 2 variants" in page and "not answered" in page
    assert (tmp_path / "student1/handout.html").is_file()
