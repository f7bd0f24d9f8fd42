"""The files that grading writes for one hand-in, made in a limited process.

The process is labs.measuring.contained: the pages quote the student.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from labs.definition.lab_spec import LabSpec
from labs.grading import grade_pages, gradescope
from labs.grading.case import Case
from labs.grading.failure_domain import Stage, failure_domain
from labs.measuring.contained import contained_as


@dataclass(frozen=True)
class CaseFiles:
    """The page for the student, results.json for Gradescope, and the part of report.json."""

    feedback: str
    results: str
    report: dict[str, Any]


def files_of(lab: LabSpec, case: Case) -> CaseFiles:
    """Return the files of a hand-in. One that cannot be rendered is refused, and they say so."""
    unmeasured = replace(case, runs={}, repeated={})
    with failure_domain(case, Stage.RENDER):
        return contained_as(CaseFiles, rendered, lab, unmeasured)
    bare = Case(
        case.hand_in,
        case.folder,
        person=case.person,
        variant=case.variant,
        digest=case.digest,
        refused=case.refused,
    )
    return _files(lab, bare)


def rendered(lab: LabSpec, case: Case) -> Any:
    """Return a CaseFiles as plain data."""
    return msgspec.to_builtins(_files(lab, case))


def _files(lab: LabSpec, case: Case) -> CaseFiles:
    page, results = grade_pages.feedback_page(lab, case), gradescope.results(lab, case)
    return CaseFiles(page, as_json(results), case.described())


def as_json(value: Any) -> str:
    """Return the text of a JSON file."""
    return json.dumps(value, indent=1) + "\n"
