"""Labs from Python, as the notebooks use them: start, run, look, answer, check, pack."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.measures.evidence import PREFIX
from analysis.table import ColumnTable, TableColumn
from labs.definition import assignment as assignments
from labs.definition import catalogue
from labs.definition.answers import read_sheet
from labs.definition.assignment import ANSWERS, Assignment
from labs.definition.runs import run_folder
from labs.measuring.measures import Values, values_of
from labs.student.hand_in import check as check
from labs.student.hand_in import pack as pack
from labs.student.hand_in import safe_name
from labs.student.handout import HANDOUT
from labs.student.handout import start as start_in
from labs.student.runs import carry_out_run, runs_to_make
from topologies import untrusted
from topologies.errors import UsageError

if TYPE_CHECKING:
    import polars

_COUNTERS, _DOUBLES = "nstat.", "metric."
"""Beginnings of names: of the kernel's counters, and of what FLOW.METRIC and run.METRIC say too."""


def start(
    lab: str, student: str, variants: Path | str | None = None, folder: Path | str | None = None
) -> Assignment:
    """Return the student's assignment: made if there is none yet, else read. Raises UsageError."""
    place = Path(folder or f"{lab}-{safe_name(assignments.student_id(student))}")
    if place.exists():
        return assignments.read_assignment(place)
    spec = catalogue.find(lab)
    file = Path(variants) if variants else None
    return start_in(
        spec, assignments.variant_from(file, spec, student, assignments.SELF_STUDY), place
    )


def run(assignment: Assignment) -> dict[str, Path]:
    """Do the runs that are not done yet; the directory of each that is there, by its name.

    What the first run waits for, a prediction, settings or a module, is printed.
    """
    try:
        for lab_run in runs_to_make(assignment):
            carry_out_run(assignment, lab_run, "virtual")
    except UsageError as waits:
        print(waits)
    folders = {
        lab_run.name: run_folder(assignment.folder, lab_run.name) for lab_run in assignment.lab.runs
    }
    return {name: place for name, place in folders.items() if place}


def measured(run: Path) -> Values:
    return next(iter(values_of(run).values()))


@dataclass(frozen=True)
class ShownHandout:
    """A handout in Markdown, which Jupyter shows as a page with its drawings."""

    markdown: str

    def _repr_markdown_(self) -> str:  # ipython.readthedocs.io, "Rich display"
        return self.markdown


def handout(assignment: Assignment) -> ShownHandout:
    text = untrusted.text_if_any(assignment.folder, HANDOUT)
    return ShownHandout(text.replace("](drawings/", f"]({assignment.folder}/drawings/"))


def table(run: Path) -> polars.DataFrame:
    """Return the values of a run's first seed: a row for each value, a column a condition.

    Counters that stayed zero are left out, and what is there under the name of a flow too.
    Raises UsageError if Polars is not installed.
    """
    values = measured(run)
    names = [
        name
        for name in sorted(set().union(*values.values()))
        if not name.startswith((PREFIX, _DOUBLES))
        and (not name.startswith(_COUNTERS) or any(each.get(name) for each in values.values()))
    ]
    columns = {
        name: TableColumn.of([measures.get(each) for each in names], float)
        for name, measures in values.items()
    }
    return ColumnTable({"what": TableColumn.of(names), **columns}).to_polars()


def answer(assignment: Assignment, answers: Mapping[str, str | Sequence[str]]) -> None:
    """Write these answers to the sheet; others stay. Raises UsageError for unknown questions."""
    lab, sheet = assignment.lab, assignment.folder / ANSWERS
    for name in answers:
        lab.question(name)
    texts: dict[str, str | list[str]] = {
        name: given if lab.question(name).kind == "choices" else given[0]
        for name, given in read_sheet(sheet, lab).items()
        if given and name not in answers
    }
    texts |= {name: text if isinstance(text, str) else [*text] for name, text in answers.items()}
    # TOML writes texts and lists of them as JSON does.
    lines = [f"{name} = {json.dumps(value)}" for name, value in texts.items()]
    sheet.write_text("[answers]\n" + "\n".join(lines) + "\n")
