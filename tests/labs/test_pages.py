"""The pages in a browser: no complaint, no page wider than a phone, and lines of TOML."""

import base64
import os
import re
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from labs.definition import catalogue
from labs.definition.assignment import Assignment, variant
from labs.definition.key import Key, key_module
from labs.definition.spec import LabSpec
from labs.grading import decisions
from labs.grading.case import AnswerMark, Case, Flag, Verdict
from labs.grading.inspection import InspectedHandIn
from labs.grading.intake import HandIn
from labs.grading.marking import Marker
from labs.grading.pages import GradedClass, class_page, feedback_page, reading_page
from labs.grading.tables import Person
from labs.student.handout import handout_files
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, browser
from tests.labs.conftest import COURSE

DERIVED = key_module("sack").DERIVED

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
_PHONE = 390
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--no-first-run", "--enable-logging=stderr"),
)
DIGEST = "0123456789abcdef" * 2
_WIDEST = """Math.max(...[...document.querySelectorAll("body *")]
  .filter((element) => !element.closest(".wide, pre, table"))
  .map((element) => element.getBoundingClientRect().right))"""
_HIDDEN = """Math.max(0, ...[...document.querySelectorAll("pre")]
  .map((element) => element.scrollWidth - element.clientWidth))"""
_WRAPPED = """[...document.querySelectorAll("pre code")]
  .filter((element) => element.innerText.includes("====="))
  .filter((element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const rows = new Set([...range.getClientRects()].map((row) => Math.round(row.top)));
    return rows.size > element.innerText.trimEnd().split("\\n").length;
  }).length"""
_TYPED = """<script>document.querySelector("input[type=number]").value = "2.5";
document.querySelector("section[data-question] textarea").value = 'Say "why" \\\\ more';
document.title = "typed " + btoa(unescape(encodeURIComponent(overrides())));</script>"""
_TICKED = """<script>document.querySelector("input[value=accept]").checked = true;
document.title = "typed " + btoa(unescape(encodeURIComponent(accepted())));</script>"""


def written(text: str, folder: Path) -> Path:
    """The page as a file."""
    file = folder / "page.html"
    file.write_text(text)
    return file


def shown(page: str, tmp_path: Path, script: str = "") -> tuple[str, str]:
    """The document after its scripts, and what the browser complained of.

    Policies are lifted for the probe only.
    """
    policy = r'<meta http-equiv="Content-Security-Policy"[^>]*>' if script else "$^"
    lifted = re.sub(policy, "", page)
    file = written(lifted.replace("</body>", f"{script}</body>"), tmp_path)
    profile, size = f"--user-data-dir={tmp_path / 'profile'}", f"--window-size={_PHONE},2000"
    command = [str(CHROMIUM), *_FLAGS, profile, size, "--dump-dom", file.as_uri()]
    environment = os.environ | {"HOME": str(tmp_path)}
    browser = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=environment
    )
    return browser.stdout, browser.stderr


def typed(page: str, tmp_path: Path, script: str) -> str:
    """The file that the page makes after `script` has filled it in."""
    document, _ = shown(page, tmp_path, script)
    match = re.search(r"<title>typed ([\w+/=]+)</title>", document)
    assert match
    return base64.b64decode(match[1]).decode()


@pytest.fixture
def case(sack: LabSpec, key: Key) -> Case:
    long = "a_very_long_word_" * 20
    given = {
        "goodput_off": ["231 kbit/s"],
        "factor": [long[:80]],
        "why": [long + " <b>bold</b> because " * 40],
    }
    return Case(
        HandIn(Path(), "ann"),
        Path(),
        InspectedHandIn(student="ann", answers=given),
        variant=variant(COURSE, sack, "ann"),
        person=Person("ann", "Ann " + long[:60]),
        marks=Marker(sack, key, {}, DERIVED, {}, {}).marks(given),
        digest=DIGEST,
    ).flagged(
        Flag("captures", f"{long} differs from packet 1,234 on", "ben"),
        Flag('odd "kind" <b>', "quoted rightly"),
    )


def test_pages_fit_a_phone_and_raise_no_complaint(
    case: Case, sack: LabSpec, assignment: Assignment, tmp_path: Path
) -> None:
    names = {case: "ann"}
    pages = {
        "feedback": feedback_page(sack, case),
        "class": class_page(GradedClass(sack, COURSE, [Person("eve")], [case]), names),
        "reading": reading_page(GradedClass(sack, COURSE, [], [case]), names),
        "handout": (assignment.folder / "handout.html").read_text(),
    }
    with browser(tmp_path) as page:
        for name, text in pages.items():
            page.open(written(text, tmp_path), _PHONE)
            assert page.run(_WIDEST) <= _PHONE, name
        assert page.complaints == []


def test_every_handout_fits_a_phone_and_its_network_is_whole(tmp_path: Path) -> None:
    with browser(tmp_path) as page:
        for name in catalogue.names():
            for language in catalogue.languages(catalogue.FOLDER / name):
                lab = catalogue.find(name, language)
                text = handout_files(lab, variant(COURSE, lab, "ann"))["handout.html"]
                page.open(written(text, tmp_path), _PHONE)
                assert page.run(_WIDEST) <= _PHONE and page.run(_HIDDEN) == 0, (name, language)
                assert page.run(_WRAPPED) == 0, (name, language)
        assert page.complaints == []


def test_a_reader_sees_predictions_and_names_as_code(case: Case, sack: LabSpec) -> None:
    foreseen = AnswerMark("predict_why", "Fewer <b>", "", 0, Verdict.GIVEN)
    case = replace(case, marks=[*case.marks, foreseen])
    page = reading_page(GradedClass(sack, COURSE, [], [case]), {case: "ann"})
    assert "Predicted: Fewer &lt;b&gt;" in page
    asked = replace(sack.question("why"), ask="Run `few` <b>?")
    case = replace(case, marks=[mark for mark in case.marks if mark.question == "why"])
    lab = replace(sack, questions=(asked,))
    assert "Run <code>few</code> &lt;b&gt;?" in feedback_page(lab, case)


def test_what_is_typed_while_reading_becomes_lines_of_the_file(
    case: Case, sack: LabSpec, tmp_path: Path
) -> None:
    decided = decisions.Decisions(
        (
            decisions.Override("eve", "why", 1.0, "kept"),
            decisions.Override("ann", "factor", 2.0, "replaced or kept"),
        )
    )
    page = reading_page(GradedClass(sack, COURSE, [], [case], decided), {case: "ann"})
    lines = tomllib.loads(typed(page, tmp_path, _TYPED))["override"]
    kept = {"student": "eve", "question": "why", "points": 1, "comment": "kept", "hand_in": ""}
    comment = 'Say "why" \\ more'
    fresh = {
        "student": "ann",
        "question": "factor",
        "points": 2.5,
        "comment": comment,
        "hand_in": DIGEST,
    }
    assert kept in lines and fresh in lines and len(lines) == 2


def test_what_is_ticked_becomes_an_acceptance_of_that_hand_in(
    case: Case, sack: LabSpec, tmp_path: Path
) -> None:
    before = decisions.Acceptance("eve", "e" * 32, ("captures",), "kept")
    page = reading_page(
        GradedClass(sack, COURSE, [], [case], decisions.Decisions(accept=(before,))),
        {case: "ann"},
    )
    (tmp_path / decisions.ACCEPTED).write_text(typed(page, tmp_path, _TICKED))
    lines = decisions.read_decisions(tmp_path, sack).accept
    assert lines == (before, decisions.Acceptance("ann", DIGEST, ("captures", 'odd "kind" <b>')))
    case = decisions.apply_acceptances(case, decisions.Decisions(accept=lines))
    assert case.state == "graded" and len(case.accepted) == 2
