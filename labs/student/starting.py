"""`tcplab lab start`: a student's folder with the handout, the runs to do, and the answer sheet."""

from __future__ import annotations

from pathlib import Path

from analysis.rendering.page_files import write
from labs.definition.assignment import ANSWERS, FILE, Assignment, assignment_text
from labs.definition.course import Variant
from labs.definition.lab_spec import LabSpec
from labs.student.handout import drawings_of, handout_text, sheet_text
from labs.templates.rendering import markdown_page
from topologies.foundation.errors import UsageError

HANDOUT = "handout.md"


def start(lab: LabSpec, variant: Variant, folder: Path) -> Assignment:
    """Make the folder.

    Raises UsageError if it is there already: answers are never overwritten.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"{folder} is there already.", "Name another folder with --out, or go on in that one."
        )
    files = {
        FILE: assignment_text(variant, lab.language),
        **handout_files(lab, variant),
        ANSWERS: sheet_text(lab, variant),
    }
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, ((name, text.encode()) for name, text in files.items()), f"lab start {lab.name}")
    return Assignment(folder, lab, variant)


def handout_files(lab: LabSpec, variant: Variant) -> dict[str, str]:
    """The handout as Markdown with its drawings beside it, and as one page with them in it."""
    handout, drawings = handout_text(lab, variant), drawings_of(lab).files()
    page = markdown_page(f"{lab.title}, {variant.student}", handout, lab.language, drawings)
    return {HANDOUT: handout, "handout.html": page, **drawings}
