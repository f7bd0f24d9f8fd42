"""Quiz questions with drawn numbers, read back by parsers of GIFT and of text2qti."""

import re

import pytest

from labs.definition import catalogue
from labs.definition.assignment import variant
from labs.definition.spec import LabSpec
from labs.instructor.question_bank import BankQuestion, bank_files, bank_lab, questions_of
from labs.measuring.ranges import VariantRuns
from tests.labs.conftest import COURSE
from tests.labs.made_measurements import LABS, runs_of
from topologies.errors import UsageError


@pytest.fixture
def bank(sack: LabSpec) -> list[BankQuestion]:
    """Two variants of the SACK lab with made-up measurements."""
    lab = bank_lab(sack)
    runs = {name: run for name, run in runs_of(LABS["sack"].shown).items() if name == "sack"}
    drawn = [variant(COURSE, lab, f"bank{number}") for number in (1, 2)]
    return [each for own in drawn for each in questions_of(lab, VariantRuns(own, runs))]


def test_a_question_names_the_run_of_its_variant(bank: list[BankQuestion]) -> None:
    asked = {each.question.id for each in bank}
    assert {"goodput_off", "factor", "where", "blocks"} <= asked and "change_effect" not in asked
    commands = {match[1] for each in bank if (match := re.search(r"`(.*?)`", each.text))}
    assert len(commands) == 2 and all("./tcplab run sack --set" in each for each in commands)
    first = next(each for each in bank if each.question.id == "goodput_off")
    assert first.text.endswith("Answer in kbit/s.") and len(bank) == 2 * len(asked)


def test_moodle_s_format_has_answers_tolerances_and_notes(
    bank: list[BankQuestion], sack: LabSpec
) -> None:
    text = bank_files(sack, bank)["sack.gift"]
    parts = [part for part in text.split("\n\n") if part]
    number = next(part for part in parts if "goodput_off" in part)
    first = next(each for each in bank if each.question.id == "goodput_off")
    assert f"{{#=%100%{first.value}:{first.tolerance:.4g} =%0%" in number
    note = first.question.mistakes[0].note.replace(":", "\\:")
    assert f"#{note}" in number and len(parts) == len(bank)
    shares = re.findall(r"~%(-?[\d.]+)%", next(part for part in parts if "blocks" in part))
    assert round(sum(float(each) for each in shares if float(each) > 0)) == 100


def test_a_parser_of_gift_reads_every_question(bank: list[BankQuestion], sack: LabSpec) -> None:
    parser = pytest.importorskip("pygiftparser.parser")
    for part in bank_files(sack, bank)["sack.gift"].strip().split("\n\n"):
        # This parser knows no mark of the text's format.
        question = parser.Question(part.replace("[markdown]", ""), "", "")
        assert question.valid, part


def test_text2qti_makes_a_package_for_canvas(bank: list[BankQuestion], sack: LabSpec) -> None:
    config = pytest.importorskip("text2qti.config").Config()
    quiz = pytest.importorskip("text2qti.quiz").Quiz(
        bank_files(sack, bank)["sack.txt"], config=config
    )
    questions = [each for each in quiz.questions_and_delims if hasattr(each, "choices")]
    kinds = {"number": "numerical_question", "choice": "multiple_choice_question"}
    kinds["choices"] = "multiple_answers_question"
    assert [each.type for each in questions] == [kinds[each.question.kind] for each in bank]


def test_a_lab_whose_commands_name_its_faults_has_no_bank() -> None:
    with pytest.raises(UsageError, match="would name its faults"):
        bank_lab(catalogue.find("unknown_capture"))
