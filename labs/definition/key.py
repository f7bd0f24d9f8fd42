"""Keys of labs: key.toml, whose expressions give each answer from the student's runs, or key.py.

`RUN:CONDITION/MEASURE` is a measure, `RUN:CONDITION/rates` the rates of all flows at their
receivers, and `RUN:CAPTURE@EVENT` the times of frames. Further names are other numbers and the
student's settings: rates in kbit/s, times in ms, shares in percent. A choice or a design about a
run that the student did not make is left out.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

import labs
from analysis.measures.selection import jain
from labs.definition import catalogue
from labs.definition.forecast import FUNCTIONS, evaluated, expression
from labs.definition.spec import LabSpec
from topologies.errors import UsageError
from topologies.plugins import registered
from topologies.units import Duration, Quantity, Rate, Share

Variables = Mapping[str, Quantity]  # the student's parameters by name
Numbers = Mapping[str, float]  # answers to questions, in their units, by id
Derived = Callable[[Numbers, Variables], float]
"""Calculates a number from the answers to other questions."""
Frames = Mapping[int, float]  # numbers of frames in a capture, with their times in seconds
FILE = "key.toml"
_NAME = re.compile(r"\b(?:(\w+):\w+/[\w.]+(?:-eth\d+)?(?:@\w+)?|[a-z]\w*\.[a-z][\w.]*)")
_ETHERNET = 1514  # bytes of a full packet, without the checksum
_UNITS: dict[type[Quantity], float] = {Duration: 1e6, Rate: 1e3, Share: 1e8}


def _packets(milliseconds: float, kbit_s: float) -> float:
    """Return the number of full packets that a link of that rate sends in that time."""
    return milliseconds * kbit_s / (8 * _ETHERNET)


def _printed(kbyte: float) -> float:
    """Return an amount as iperf prints it: its MBytes (KBytes below one) are 1024 KBytes."""
    return kbyte if kbyte < 1024 else kbyte / 1.024


def _compared(after: float, before: float, larger: str, same: str, smaller: str) -> str:
    return larger if after > 1.05 * before else smaller if after < 0.95 * before else same


_FUNCTIONS: Mapping[str, Callable[..., Any]] = FUNCTIONS | {
    "packets": _packets,
    "printed": _printed,
    "ratio": lambda one, other: max(one, other) / min(one, other),
    "sum": sum,
    "jain": jain,
    "median": lambda *values: median(values),
    "count": len,
    "begin": lambda frames: min(frames.values()),
}


@dataclass(frozen=True)
class Key:
    """The right answers, by question.

    `numbers` are in the unit of their question, `choices` are the ids of right options, and
    `mistakes` are the values that known mistakes lead to, by their ids. `frames` are the frames of
    the question's capture that prove what is asked, with their times; `wrong_frames` are those that
    known mistakes lead to. `measured` are the values of a design's bounds in its run.
    """

    numbers: Mapping[str, float] = field(default_factory=dict)
    choices: Mapping[str, set[str]] = field(default_factory=dict)
    mistakes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    frames: Mapping[str, Frames] = field(default_factory=dict)
    wrong_frames: Mapping[str, Mapping[str, Frames]] = field(default_factory=dict)
    measured: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


class KeyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """key.toml: expressions by question, and events of frames.

    A choice is the right option; or options with the conditions under which they are right; or two
    values, and the options that are right if the first is larger, the same or smaller. An event may
    be `first EVENT`, or `EVENT without EVENT`.
    """

    lesson: str
    numbers: dict[str, str] = {}
    choices: dict[str, str | tuple[str, str, str, str, str] | dict[str, str]] = {}
    mistakes: dict[str, dict[str, str]] = {}
    frames: dict[str, str] = {}
    wrong_frames: dict[str, dict[str, str]] = {}
    measured: dict[str, dict[str, str]] = {}


class _Names(dict[str, Any]):
    """Values of settings and faults (RANGE.SETTING, 1 if drawn), and of numbers and measures."""

    def __init__(self, key: WrittenKey, runs: Mapping[str, Any], variables: Variables):
        super().__init__()
        for span in (span for span in key.lab.varies if span.hidden):
            names = (f"{span.name}.{value.partition('=')[0]}" for value in span.values)
            self.update(dict.fromkeys(names, 0.0))
        for name, each in variables.items():
            self[name] = each.base / _UNITS.get(type(each), 1.0)
        self.runs, self.numbers = runs, key.file.numbers

    def __contains__(self, name: object) -> bool:
        return ":" in str(name) or name in self.numbers or super().__contains__(name)

    def __missing__(self, name: str) -> Any:
        if name in self.numbers:
            self[name] = float(self.value(self.numbers[name]))
            return self[name]
        run, _, measure = name.partition(":")
        condition, _, key = measure.partition("/")
        if "@" in key:
            return self.runs[run].frames(*measure.split("@"))
        return self.runs[run].rates(condition) if key == "rates" else self.runs[run](condition, key)

    def value(self, text: str) -> Any:
        """Return the value of an expression. Raises KeyError, UsageError."""
        return evaluated(_parsed(text), self, _FUNCTIONS)

    def values_of(self, texts: Mapping[str, str]) -> dict[str, float]:
        return {name: float(self.value(text)) for name, text in texts.items()}


class _Unquoted(ast.NodeTransformer):
    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        return ast.Name(node.value) if isinstance(node.value, str) else node


@cache
def _parsed(text: str) -> ast.expr:
    tree: ast.expr = _Unquoted().visit(expression(_NAME.sub(r'"\g<0>"', text)))
    return tree


class WrittenKey:
    """The key of a lab by its key.toml, with the parts of a key.py."""

    def __init__(self, lab: LabSpec, file: KeyFile):
        self.lab, self.file = lab, file

    @property
    def DERIVED(self) -> dict[str, Derived]:
        """For each number that follows from answers: what calculates it."""

        def derived(text: str, answers: Numbers, variables: Variables) -> float:
            names = _Names(self, {}, variables)
            names.update(answers)
            return float(names.value(text))

        numbers = self.file.numbers
        return {q.id: partial(derived, numbers[q.id]) for q in self.lab.questions if q.follows}

    def lesson(self, runs: Mapping[str, Any]) -> bool:
        return bool(_Names(self, runs, {}).value(self.file.lesson))

    def key(self, runs: Mapping[str, Any], variables: Variables) -> Key:
        """Return the answers, and the values that known mistakes lead to. Raises KeyError."""
        file, names = self.file, _Names(self, runs, variables)
        designs = (each for each in self.lab.questions if each.kind == "design")
        return Key(
            numbers={name: names[name] for name in file.numbers},
            choices=dict(self._choices(names)),
            mistakes={name: names.values_of(wrong) for name, wrong in file.mistakes.items()},
            frames={name: self._frames(runs, name, text) for name, text in file.frames.items()},
            wrong_frames={
                name: {each: self._frames(runs, name, text) for each, text in wrong.items()}
                for name, wrong in file.wrong_frames.items()
            },
            measured={
                design.id: names.values_of(file.measured.get(design.id, {}))
                for design in designs
                if design.run in runs
            },
        )

    def _choices(self, names: _Names) -> Iterator[tuple[str, set[str]]]:
        for question, right in self.file.choices.items():
            if isinstance(right, dict):
                yield question, {option for option, when in right.items() if names.value(when)}
            elif isinstance(right, str):
                yield question, {right}
            elif {match[1] for match in _NAME.finditer(" ".join(right[:2]))} <= {None, *names.runs}:
                after, before = names.value(right[0]), names.value(right[1])
                yield question, {_compared(after, before, *right[2:])}

    def _frames(self, runs: Mapping[str, Any], question: str, text: str) -> Frames:
        asked = self.lab.question(question)
        event, _, without = text.partition(" without ")
        read = partial(runs[asked.run].frames, asked.capture)
        others = read(without) if without else {}
        frames = read(event.removeprefix("first "))
        numbers = sorted(frames.keys() - others.keys())
        shown = numbers[:1] if event.startswith("first ") else numbers
        return {number: frames[number] for number in shown}


def key_module(name: str) -> Any:
    """Return the lab's key: `key(runs, variables)`, `lesson(runs)`, and `DERIVED` if it has any."""
    file = catalogue.folder_of(name) / FILE
    if file.is_file():
        return _read(name, file)
    plugin = registered(catalogue.GROUP).get(name)
    package = plugin.load().__name__ if plugin else f"{labs.__name__}.{name}"
    return importlib.import_module(f"{package}.key")


@cache
def _read(name: str, file: Path) -> WrittenKey:
    try:
        return WrittenKey(catalogue.find(name), msgspec.convert(catalogue.table(file), KeyFile))
    except ValueError as error:
        raise UsageError(f"{file} cannot be read: {error}.", "Correct that line.") from None
