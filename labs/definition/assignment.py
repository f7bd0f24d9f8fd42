"""A student's assignment: the lab and the variant that a folder of `tcplab lab start` holds."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from labs.definition import lab_catalogue, lab_texts
from labs.definition.course import Variant
from labs.definition.lab_spec import LabSpec
from labs.definition.texts import decoded
from topologies.foundation.data import from_data, to_data
from topologies.foundation.errors import TcplabError, UsageError

FILE, ANSWERS = "assignment.json", "answers.toml"
_FORMAT = 1


@dataclass(frozen=True)
class Assignment:
    """A lab's folder of one student."""

    folder: Path
    lab: LabSpec
    variant: Variant


def assignment_text(variant: Variant, language: str) -> str:
    """The content of the file from which `read_assignment` knows a folder."""
    content = {"format": _FORMAT, "language": language, "variant": to_data(variant)}
    return json.dumps(content, indent=1) + "\n"


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
    language = str(content.get("language", lab_texts.FIRST_LANGUAGE))
    return Assignment(folder, lab_catalogue.find(variant.lab, language), variant)
