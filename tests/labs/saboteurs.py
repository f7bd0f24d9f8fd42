"""Failures of every kind for any step of grading, and a class whose runs are already measured.

The functions below take the place of a step in a limited process of grading
(labs.measuring.contained), so each is imported there by name.
"""

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from labs.grading.case import Case
from labs.measuring import contained as containing
from labs.measuring.contained import Allowance
from labs.measuring.measures import measured

MEASURED = Path(__file__).parents[1] / "analysis" / "data" / "run"
"""A small run of the SACK experiment. Every run of the class has its raw files."""
_UPLOADED = re.compile(r"/Name of ([a-z-]+)_\d+_assignsubmission_file/")
_HAND_IN = re.compile(r"/hand-ins/(\d+)(?:/|$)")


def raises(*_: Any) -> None:
    raise LookupError("the words of a stranger")


def garbage(*_: Any) -> Any:
    return {"values": [None, {"unexpected": "\ud800"}], "problem": ""}


def hangs(*_: Any) -> None:
    signal.pause()


def eats_memory(*_: Any) -> None:
    held = []
    while True:
        held.append(bytearray(256 << 20))


def is_killed(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


KINDS: dict[str, Callable[..., Any]] = {
    "raises": raises,
    "garbage": garbage,
    "hangs": hangs,
    "memory": eats_memory,
    "killed": is_killed,
}
SHORT = Allowance(seconds=1.0)
"""What a step that hangs may take."""


def carried(folder: str, data: Any, seed: int, *_: Any) -> Any:
    """Stand in for the guest of a run (labs.measuring.references)."""
    raw = Path(folder) / "raw" / f"seed-{seed}"
    kept(str(raw), data, seed)
    record = {"status": "complete", "problem": "", "log": "", "rows": [], "warnings": []}
    return record | measured(raw, data, seed)


def kept(raw: str, _data: Any, _seed: int, *_: Any) -> None:
    """Stand in for a guest whose captures are kept."""
    shutil.copytree(MEASURED / "raw" / "seed-5", raw, dirs_exist_ok=True)


@dataclass
class Sabotage:
    """What fails: by the name of a step's function, the kind of failure of each student.

    `students` are in the order of the class, `seeds` are those of their variants. `met` are the
    steps that were reached.
    """

    students: list[str]
    seeds: Mapping[int, str]
    failures: Mapping[tuple[str, str], str]
    met: set[tuple[str, str]] = field(default_factory=set)
    real: Callable[..., Any] = containing.contained

    def __call__(self, function: Callable[..., Any], *arguments: Any, **limits: Any) -> Any:
        """Stand in for `labs.measuring.contained.contained`."""
        name = function.__name__
        student = self._student(arguments)
        self.met.add((name, student))
        if kind := self.failures.get((name, student)):
            return self.real(KINDS[kind], allowance=SHORT if kind == "hangs" else Allowance())
        stand_in = {"_carried": carried, "_kept": kept}.get(name)
        return self.real(stand_in or function, *arguments, **limits)

    def _student(self, arguments: tuple[Any, ...]) -> str:
        """The student of a step, by a case, the seed of a run, or a place in a folder."""
        for argument in arguments:
            if isinstance(argument, Case):
                return argument.student
            if isinstance(argument, int) and argument in self.seeds:
                return self.seeds[argument]
            if isinstance(argument, str | Path):
                if match := _UPLOADED.search(str(argument)):
                    return match[1]
                if match := _HAND_IN.search(str(argument)):
                    return self.students[int(match[1])]
            if isinstance(argument, dict) and "why" in argument:
                return str(argument["why"][0]).split()[0]
        return ""


def manifest_of(seed: int) -> dict[str, Any]:
    """The manifest of the measured run as that of another seed, before it is signed."""
    content: dict[str, Any] = json.loads((MEASURED / "manifest.json").read_text())
    return content | {"seeds": [seed]}
