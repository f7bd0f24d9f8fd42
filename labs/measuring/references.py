"""Repeated runs of students, and runs on hidden networks, cached by their content.

A module that was handed in is code of the guest, so the guest's folder is untrusted too: even its
progress is read in a limited process (labs.measuring.contained).
"""

import hashlib
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any, Literal

from msgspec import Struct, to_builtins

from analysis.measures.selection import jain
from experiments.run.seed import limits_for, run_seed
from experiments.spec import ExperimentSpec
from experiments.study.grid import Combination
from experiments.sweep.point import Origin, Point, Record, carry_point, origin
from experiments.sweep.run import PointRunner, Watch
from experiments.sweep.store import PointStore
from labs.definition import forecast
from labs.definition.answers import OwnParts
from labs.definition.assignment import Course
from labs.definition.forecast import HiddenNetwork, HiddenResult, TestedProgram
from labs.definition.spec import LabSpec, ProgramTest, Question, ScoreTerm
from labs.definition.written import in_digits
from labs.measuring.contained import Allowance, contained_as
from labs.measuring.measures import MeasuredRun, UnknownName, measured
from testbed.engine import Task
from testbed.guest.host_root import AT_ITS_LIMIT
from testbed.host.scratch import scratch
from testbed.host.supervise import Progress
from testbed.lab.ready import Lab
from testbed.virtual.sandbox import MEMORY_FOLDER, own_folders
from topologies.data import from_data
from topologies.errors import TcplabError, UsageError

_READING = 600.0
"""Seconds on top of the run's: to measure its files, and to build its module, for the first of
which a slow machine prepares the kernel's tree for minutes."""
_MORE = 2 << 30  # bytes of address space on top of the guest's memory


class CarriedRecord(Struct):
    """A record of a run of a lab, as it has to come out of its process."""

    status: Literal["complete", "unproved", "failed"]
    problem: str
    log: str
    rows: list[dict[str, Any]]
    warnings: list[str]
    usage: dict[str, int | float] = {}
    values: dict[str, dict[str, int | float]] = {}
    files: dict[str, str] = {}


def carry(data: Any, seed: int, seconds: float, lab: Lab, tell: Progress) -> Record:
    with scratch() as folder:
        try:
            limits: dict[str, Any] = {"allowance": _allowance(data, seconds), "tell": tell}
            words = str(folder), data, seed, seconds, lab
            record: Record = to_builtins(contained_as(CarriedRecord, _carried, *words, **limits))
        except TcplabError as error:
            return _failed(str(error))
    return _failed("") | record


def _limit_of(record: Record) -> str:
    said = [str(warning) for warning in record["warnings"]]
    return next((text for text in said if AT_ITS_LIMIT in text), "")


def _failed(problem: str) -> Record:
    return {"status": "failed", "problem": problem, "log": "", "rows": [], "warnings": []}


def carry_kept(raw: str, data: Any, seed: int, seconds: float, lab: Lab, tell: Progress) -> None:
    """Run a point and leave its raw files in the empty folder `raw`."""
    limits: dict[str, Any] = {"allowance": _allowance(data, seconds), "tell": tell}
    contained_as(NoneType, _kept, raw, data, seed, seconds, lab, **limits)


def _allowance(data: Any, wall_seconds: float) -> Allowance:
    limits = limits_for(from_data(ExperimentSpec, data), wall_seconds)
    # Without namespaces the guest's memory is a file that counts.
    file = max(Allowance.file, own_folders(limits)[MEMORY_FOLDER])
    return Allowance(wall_seconds + _READING, (limits.memory_mib << 20) + _MORE, file)


def _kept(raw: str, data: Any, seed: int, seconds: float, lab: Lab, tell: Progress) -> None:
    spec: ExperimentSpec = from_data(ExperimentSpec, data)
    run_seed(spec, seed, Path(raw), limits_for(spec, seconds), lab, tell)


def _carried(folder: str, data: Any, seed: int, seconds: float, lab: Lab, tell: Progress) -> Record:
    raw = Path(folder) / "raw" / f"seed-{seed}"
    raw.mkdir(parents=True)
    return carry_point(raw, data, seed, seconds, lab, tell, measured)


@dataclass
class References:
    """The repeated runs of a class. `ask` for them all, then look them up."""

    way: PointRunner
    memory: PointStore
    watch: Watch
    records: dict[str, Record] = field(default_factory=dict)

    @cached_property
    def source(self) -> Origin:
        return origin(self.way.lab, "labs.measuring.measures")

    def point(self, combination: Combination, seed: int) -> Point:
        return self.source.point(combination, seed)

    def ask(self, points: Iterable[Point]) -> None:
        wanted = {point.key: point for point in points}
        self.records |= self.memory.done(wanted)
        self.watch.wanted(len(wanted), len(wanted.keys() & self.records.keys()))
        missing = [point for key, point in wanted.items() if key not in self.records]
        for point, record in self.way.run(missing, self.memory, self.watch, carry):
            self.records[point.key] = record

    def ask_for_programs(self, programs: Iterable[Sequence[Point]]) -> None:
        """Run each hand-in's programs on its networks; after one that ended at a limit on none."""
        tried = [points for points in programs if points]
        self.ask(points[0] for points in tried)
        for first, *others in tried:
            if reason := _limit_of(self.records[first.key]):
                text = f"It was not run again, since the first time {reason}"
                self.records |= {point.key: _failed(text) for point in others}
        self.ask(each for points in tried for each in points if each.key not in self.records)

    def keep(self, points: Iterable[Point], folder: Path) -> dict[str, str]:
        """Run these again and keep their files; return the problem of each by its key."""
        again = {point.key: point for point in points}
        if not again:
            return {}
        differing = f"Captures differ in {len(again):,} runs"
        self.watch.note(f"{differing}: these are repeated once more, to say where.")
        self.watch.wanted(len(self.records) + len(again), len(self.records))
        lost: dict[str, str] = {}

        def task(key: str, point: Point) -> Task:
            data, seconds = point.combination.data, self.way.wall_seconds
            raw = folder / place_of(data) / "raw" / f"seed-{point.seed}"
            raw.mkdir(parents=True)
            return Task(f"kept-{key}", carry_kept, (str(raw), data, point.seed, seconds))

        with self.way.engine(self.watch) as engine:
            for done in engine.run(itertools.starmap(task, again.items())):
                key, problem = done.key.removeprefix("kept-"), ""
                if done.error is not None:
                    problem = lost[key] = str(done.error) or type(done.error).__name__
                status = "failed" if problem else "complete"
                self.watch.ended(again[key], {"status": status, "problem": problem, "rows": []})
        return lost


def place_of(data: Any) -> str:
    return hashlib.sha256(repr(data).encode()).hexdigest()[:24]


HiddenResults = dict[str, list[HiddenResult]]
"""The results on the networks of each forecast, by question."""
TestedPrograms = dict[str, list[TestedProgram]]
"""The results of a student's programs on the hidden networks, by question."""
_LONGEST = 200  # characters of a reason
_TOGETHER = re.compile(r"(share|jain)\((.+)\)")


@dataclass
class HiddenRuns:
    """The hidden networks that a course's secret draws, and their runs among the references."""

    lab: LabSpec
    course: Course
    references: References
    own: OwnParts | None = None

    @cached_property
    def networks(self) -> dict[str, list[HiddenNetwork]]:
        """The networks by question, of forecasts or of `own` programs. Raises UsageError."""
        kind = "program" if self.own else "forecast"
        asked = (each for each in self.lab.questions if each.kind == kind)
        return {
            each.id: forecast.hidden_networks(self.lab, each, self.course, self.own)
            for each in asked
        }

    def points(self) -> list[Point]:
        networks = (network for listed in self.networks.values() for network in listed)
        return [self._point(network) for network in networks]

    def results(self) -> HiddenResults:
        """Return what was measured. Raises TcplabError if a run failed."""
        return {
            name: [self._result(self.lab.question(name), network) for network in networks]
            for name, networks in self.networks.items()
        }

    def tested(self) -> TestedPrograms:
        return {
            name: [self._tested(self.lab.question(name), network) for network in networks]
            for name, networks in self.networks.items()
        }

    def _tested(self, question: Question, network: HiddenNetwork) -> TestedProgram:
        record = self.references.records[self._point(network).key]
        failed = str(record["problem"]) if record["status"] == "failed" else _limit_of(record)
        if failed:
            return TestedProgram((), failed[:_LONGEST])
        run = MeasuredRun((record["values"],))
        return tested_program(self.lab, question, run, network.variables)

    def _point(self, network: HiddenNetwork) -> Point:
        return self.references.point(network.combination, network.seed)

    def _result(self, question: Question, network: HiddenNetwork) -> HiddenResult:
        record = self.references.records[self._point(network).key]
        if problem := record["problem"]:
            settings = ", ".join(network.settings)
            problem = f"{question.id}: the network {settings} could not be run: {problem}"
            raise TcplabError(problem, "Correct the ranges in lab.toml.")
        run = MeasuredRun((record["values"],))
        return HiddenResult(network.variables, program_value(run, question.value))


def tested_program(
    lab: LabSpec, question: Question, run: MeasuredRun, variables: Mapping[str, float]
) -> TestedProgram:
    """Return the stages that a program passed in a run, none if bytes passed no network."""
    if run.not_carried:
        return TestedProgram((), run.not_carried[0], not_carried=True)
    passed: list[str] = []
    reason = ""
    for test in question.tests:
        if reason := _failure(test, run, variables):
            break
        passed.append(test.id)
    board, score = lab.leaderboard, 0.0
    if board and board.question == question.id and board.needs in passed:
        score = max(0.0, sum(_part(term, run, variables) for term in board.terms))
    return TestedProgram(tuple(passed), reason, score)


def program_value(run: MeasuredRun, text: str) -> float:
    """Return a value of a test: a CONDITION/KEY, or share(...) or jain(...) of several."""
    together = _TOGETHER.fullmatch(text)
    keys = [key.strip().partition("/") for key in (together[2] if together else text).split(",")]
    values = [run(condition, key) for condition, _, key in keys]
    if together is None:
        return values[0]
    if together[1] == "share":
        return values[0] / sum(values) if any(values) else 0.0
    return jain(values)


def _failure(test: ProgramTest, run: MeasuredRun, variables: Mapping[str, float]) -> str:
    try:
        value = program_value(run, test.value)
    except UnknownName:
        raise  # a mistake in lab.toml
    except KeyError:
        return f"{test.text}: too little arrived to be measured"
    least, most = (forecast.limit(text, variables) for text in (test.least, test.most))
    if least <= value <= most:
        return ""
    crossed = f"{in_digits(least if value < least else most)} {test.unit}".strip()
    return f"{test.text}: {in_digits(value)}, and the limit is {crossed}"


def _part(term: ScoreTerm, run: MeasuredRun, variables: Mapping[str, float]) -> float:
    """Return a term's part of the score. Raises UsageError for a `per` of zero."""
    per = forecast.limit(term.per, variables)
    if not per:
        problem = f"The leaderboard cannot divide: '{term.per[:40]}' is 0 here."
        raise UsageError(problem, "Correct lab.toml.")
    return term.weight * program_value(run, term.value) / per
