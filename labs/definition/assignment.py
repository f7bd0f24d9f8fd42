"""`tcplab lab start`: a student's folder with the handout, the runs to do and the sheet for the
answers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.rendering.page_files import write
from labs.definition import lab_catalogue
from labs.definition.course import Variant
from labs.definition.lab_runs import combination_of, command_of, seeds_of, variables_of
from labs.definition.lab_spec import LabRun, LabSpec, Question
from labs.definition.texts import decoded
from labs.definition.written_numbers import COUNT, unit_named
from labs.templates import markdown_page, render, render_lab
from topologies.data import from_data, to_data
from topologies.errors import TcplabError, UsageError

FILE, ANSWERS, HANDOUT = "assignment.json", "answers.toml", "handout.md"
_FORMAT = 1


@dataclass(frozen=True)
class Assignment:
    """A lab's folder of one student."""

    folder: Path
    lab: LabSpec
    variant: Variant


def start(lab: LabSpec, variant: Variant, folder: Path) -> Assignment:
    """Make the folder.

    Raises UsageError where it is there already: answers are never overwritten.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(
            f"{folder} is there already.", "Name another folder with --out, or go on in that one."
        )
    handout = handout_text(lab, variant)
    files = {
        FILE: json.dumps({"format": _FORMAT, "variant": to_data(variant)}, indent=1) + "\n",
        HANDOUT: handout,
        "handout.html": markdown_page(f"{lab.title}, {variant.student}", handout),
        ANSWERS: render("answers.toml.j2", {"lab": lab, "variant": variant}),
    }
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, ((name, text.encode()) for name, text in files.items()), f"lab start {lab.name}")
    return Assignment(folder, lab, variant)


def read_assignment(folder: Path) -> Assignment:
    """The assignment in a folder that `lab start` made. Raises UsageError, TcplabError."""
    try:
        content = json.loads(decoded((folder / FILE).read_bytes()))
    except FileNotFoundError:
        remedy = "Name the folder that ./tcplab lab start made, or change into it."
        raise UsageError(f"'{folder}' is no lab's folder: it has no {FILE}.", remedy) from None
    except (OSError, ValueError) as error:
        raise TcplabError(
            f"{folder / FILE} cannot be read: {error}.", "Start the lab again with --out."
        ) from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise TcplabError(
            f"{folder / FILE} was written by another tcplab.",
            "Update tcplab, or start the lab again.",
        )
    variant: Variant = from_data(Variant, content.get("variant"), FILE)
    return Assignment(folder, lab_catalogue.find(variant.lab), variant)


def handout_text(lab: LabSpec, variant: Variant) -> str:
    """The handout in Markdown.

    Every number in it is rendered from the lab's spec and the student's variant.
    """
    return render_lab(
        lab.name,
        {
            "lab": lab,
            "variant": variant,
            "parts": [_part(run, variant) for run in lab.runs],
            "values": {name: str(value) for name, value in variables_of(lab, variant).items()},
            "questions": list(enumerate(lab.questions, 1)),
            "asked": asked,
            "points": lab.points,
        },
    )


def _part(run: LabRun, variant: Variant) -> dict[str, Any]:
    """What a handout says of a run: its parameters, conditions, flows and topology, all from the
    spec.
    """
    if run.module:
        return {
            "name": run.name,
            "module": True,
            "command": command_of(run, variant),
            "seeds": seeds_of(run, variant),
        }
    made = combination_of(run, variant)
    spec = made.spec
    flow = spec.flows[0]
    besides = [
        text for text in run.settings if not hasattr(made.parameters, text.partition("=")[0])
    ]
    trip = spec.topology.round_trip(flow.sender, flow.receiver)
    return {
        "name": run.name,
        "module": False,
        "command": command_of(run, variant),
        "seeds": seeds_of(run, variant),
        "parameters": to_data(made.parameters),
        "besides": besides,
        "conditions": spec.conditions,
        "flows": spec.flows,
        "diagram": spec.topology.diagram,
        "round_trip": str(trip),
        "captures": spec.captures,
    }


def asked(question: Question) -> str:
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
