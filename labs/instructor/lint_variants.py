"""What is wrong with a lab in variants that were run: `tcplab lab lint --variants`."""

from __future__ import annotations

from collections.abc import Iterator

from labs.definition.course import Variant
from labs.instructor.lint import LintFinding
from labs.instructor.preview import LabPreview


def lint_variants(preview: LabPreview) -> Iterator[LintFinding]:
    """Where the claim does not hold, a question has no answer, or points do not follow thinking."""
    for runs, shown, tried in zip(preview.carried, preview.shown, preview.tried, strict=True):
        where = f"in the variant {_values(runs.variant)}"
        if not shown:
            yield LintFinding("claim", f"it does not hold {where}")
        for question in tried.unanswered:
            yield LintFinding(question, f"its answer is missing or not plausible {where}")
        if not tried.in_order:
            yield LintFinding("points", f"kinds of students are not in their order {where}")


def _values(variant: Variant) -> str:
    return ", ".join(f"{name} {value}" for name, value in variant.values)
