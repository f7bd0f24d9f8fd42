"""The sheet of an oral exam, from a hand-in whose run is measured already."""

import base64
import re
from pathlib import Path

from labs.instructor.oral import write_sheet
from tests.labs.conftest import COURSE
from tests.labs.measured_class import LAB, make


def test_the_sheet_asks_about_the_student_s_frames_and_texts(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    make(tmp_path / "class", "ann")
    page = write_sheet(tmp_path / "class" / "ann.zip", LAB, COURSE, tmp_path / "o.html").read_text()
    questions, _, key = page.partition("For the examiner")
    assert "ann says: SACK names each gap" in questions and "You named frame" in questions
    assert "of your capture sack_" in questions and "It is " not in questions and "It is " in key
    assert "Marked right" in key and LAB.question("why").rubric[:20] in key
    pictures = re.findall(r"svg\+xml;base64,([\w+/=]+)", questions)
    drawn = [base64.b64decode(picture).decode() for picture in pictures]
    assert drawn and all("<polygon" in picture for picture in drawn)
    for named in re.findall(r"You named frame (\d+) ", questions):
        assert any(f">{named}: " in picture for picture in drawn)
