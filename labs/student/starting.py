"""`tcplab lab start`: a student's folder with the handout, the runs to do, and the answer sheet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from analysis.rendering.page_files import write
from labs.definition.assignment import ANSWERS, FILE, Assignment, assignment_text
from labs.definition.course import Variant
from labs.definition.lab_runs import combination_of, command_of, seeds_of, variables_of
from labs.definition.lab_spec import LabRun, LabSpec, Question
from labs.definition.written_numbers import COUNT, unit_named
from labs.templates.rendering import markdown_page, render, render_handout
from topologies.data import to_data
from topologies.errors import UsageError

_HANDOUT = "handout.md"


def start(lab: LabSpec, variant: Variant, folder: Path) -> Assignment:
    """Make the folder.

    Raises UsageError if it is there already: answers are never overwritten.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"{folder} is there already.", "Name another folder with --out, or go on in that one."
        )
    handout = handout_text(lab, variant)
    files = {
        FILE: assignment_text(variant),
        _HANDOUT: handout,
        "handout.html": markdown_page(f"{lab.title}, {variant.student}", handout),
        ANSWERS: render("answers.toml.j2", {"lab": lab, "variant": variant}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, ((name, text.encode()) for name, text in files.items()), f"lab start {lab.name}")
    return Assignment(folder, lab, variant)


def handout_text(lab: LabSpec, variant: Variant) -> str:
    """The handout in Markdown.

    Every number in it is rendered from the lab's spec and the student's variant.
    """
    variables = variables_of(lab, variant)
    return render_handout(
        lab.name,
        {
            "lab": lab,
            "variant": variant,
            "parts": [_part(run, variant) for run in lab.runs],
            "values": {name: str(quantity) for name, quantity in variables.items()},
            "questions": list(enumerate(lab.questions, 1)),
            "answer_kind": _answer_kind,
            "points": lab.points,
        },
    )


def _part(run: LabRun, variant: Variant) -> dict[str, Any]:
    """What a handout says of a run, all of it from the spec: parameters, flows, topology."""
    part = {
        "name": run.name,
        "module": run.module,
        "command": command_of(run, variant),
        "seeds": seeds_of(run, variant),
    }
    return part if run.module else part | _network(run, variant)


def _network(run: LabRun, variant: Variant) -> dict[str, Any]:
    """What the student's variant makes of the run's experiment."""
    combination = combination_of(run, variant)
    spec, parameters = combination.spec, combination.parameters
    flow = spec.flows[0]
    return {
        "parameters": to_data(parameters),
        "other_settings": [
            setting
            for setting in run.settings
            if not hasattr(parameters, setting.partition("=")[0])
        ],
        "conditions": spec.conditions,
        "flows": spec.flows,
        "diagram": spec.topology.diagram,
        "round_trip": str(spec.topology.round_trip(flow.sender, flow.receiver)),
        "captures": spec.captures,
    }


def _name_of(setting: str) -> str:
    """The name in a NAME=VALUE."""
    return setting.partition("=")[0]


def _answer_kind(question: Question) -> str:
    """What kind of answer is wanted, in words."""
    counted = unit_named(question.unit) == COUNT
    number = (
        "a plain number" if counted else f"a number in {question.unit} or another unit of that kind"
    )
    kinds = {
        "number": number,
        "choice": "one of the options",
        "choices": "all options that apply",
        "text": "a short text",
        "graph": "the name of a picture in this folder (PNG or JPEG)",
        "module": "the name of your .c file in this folder",
    }
    return kinds[question.kind]
