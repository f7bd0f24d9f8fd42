"""What a student adds to a lab's runs: a module, and the settings that are the student's choice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from labs.definition.answer_sheet import Answers
from labs.definition.lab_spec import LabRun, LabSpec
from topologies.foundation.errors import UsageError


@dataclass(frozen=True)
class OwnParts:
    """`settings` are NAME=VALUE by the name of their run; a run without any cannot be made."""

    module: Path | None = None
    settings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def examples_of(lab: LabSpec, module: Path | None) -> OwnParts:
    """What shows the lab without a student: the lab's own good choices."""
    return OwnParts(module, {run.name: run.example for run in lab.runs if run.chosen})


def parts_of(lab: LabSpec, answers: Answers, module: Path | None) -> OwnParts:
    """What the answers choose. A run whose answer is blank or wrong has no settings."""
    settings = {}
    for run in lab.runs:
        try:
            settings[run.name] = chosen_in(lab, run, answers)
        except UsageError:
            continue
    return OwnParts(module, {name: texts for name, texts in settings.items() if texts})


def chosen_in(lab: LabSpec, run: LabRun, answers: Answers) -> tuple[str, ...]:
    """The settings of a run that the answers choose; none if it has nothing to choose.

    Raises UsageError with what is wrong in them.
    """
    question = lab.design_of(run)
    if not run.chosen or question is None:
        return ()
    given = answers.get(question.id, [])
    if not given:
        remedy = f"Write your choice into answers.toml: {question.id} = {_sample(run)!r}."
        raise UsageError(f"The run {run.name} needs your settings.", remedy)
    return _checked(run, given[0], question.id)


def _checked(run: LabRun, text: str, question: str) -> tuple[str, ...]:
    """Each setting, in the order of the run's choices. Raises UsageError."""
    words = re.sub(r"\s*=\s*", "=", text).replace(",", " ").split()
    given = dict(word.partition("=")[::2] for word in words)
    spans = {span.name: span for span in run.chosen}
    for name, value in given.items():
        if name not in spans:
            raise UsageError(
                f"{question}: '{name[:40]}' cannot be chosen.", f"There is {', '.join(spans)}."
            )
        if value not in spans[name].values:
            raise UsageError(
                f"{question}: {name} cannot be '{value[:40]}'.",
                f"Choose from {', '.join(spans[name].values)}.",
            )
    if len(words) != len(given) or (len(given) != 1 if run.one else len(given) != len(spans)):
        wanted = "one setting" if run.one else "a value for each of " + ", ".join(spans)
        raise UsageError(f"{question}: {wanted} is wanted.", f"Write for example {_sample(run)}.")
    return tuple(f"{name}={given[name]}" for name in spans if name in given)


def _sample(run: LabRun) -> str:
    """How a choice is written: first values, which are not the run's good choice."""
    spans = run.chosen[:1] if run.one else run.chosen
    return " ".join(f"{span.name}={span.values[0]}" for span in spans)
