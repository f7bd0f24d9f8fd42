"""A student's run repeated: what it measures and the digests of its files, remembered by what it is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import analysis
import labs
from experiments.grid import Combination
from experiments.seed import carry_seed, judge, memory_for
from experiments.spec import ExperimentSpec
from experiments.sweep.point import Origin, Point, Record
from experiments.sweep.results import Results
from experiments.sweep.run import Watch, Way, run_points
from labs.contained import contained
from labs.measuring import Values, as_run_directory, values_of
from testbed.archive import code_digest
from testbed.engine.engine import Task
from testbed.lab import Lab
from testbed.running import Limits, Progress
from testbed.scratch import scratch
from topologies.data import from_data
from topologies.errors import TcplabError

_MEASURING = ("measuring.py", "contained.py", "grading/references.py")


def origin(lab: Lab) -> Origin:
    """Where references come from: the lab, the code that runs in guests, and all code that measures."""
    folders = (Path(analysis.__file__).parent, Path(labs.__file__).parent)
    files = [*sorted(folders[0].rglob("*.py")), *(folders[1] / name for name in _MEASURING)]
    measuring = hashlib.sha256(b"\n".join(file.read_bytes() for file in files)).hexdigest()
    return Origin(lab.digests["whole"], code_digest(), measuring)


@dataclass
class References:
    """The repeated runs of a class. `ask` for them all, then look them up."""

    way: Way
    memory: Results
    watch: Watch
    records: dict[str, Record] = field(default_factory=dict)

    @cached_property
    def source(self) -> Origin:
        return origin(self.way.lab)

    def point(self, combination: Combination, seed: int) -> Point:
        return self.source.point(combination, seed)

    def ask(self, points: Iterable[Point]) -> None:
        """Run what is not known."""
        wanted = {point.key: point for point in points}
        self.records |= self.memory.done(wanted)
        self.watch.wanted(len(wanted), len(wanted.keys() & self.records.keys()))
        missing = [point for key, point in wanted.items() if key not in self.records]
        for point, record in run_points(missing, self.way, self.memory, self.source, self.watch, carry):
            self.records[point.key] = record

    def keep(self, points: Iterable[Point], folder: Path) -> None:
        """Run these once more with their files kept below `folder`, to compare them packet by packet."""
        again = {point.key: point for point in points}
        if not again:
            return
        self.watch.note(f"Captures differ in {len(again):,} runs: these are repeated once more, to say where.")
        self.watch.wanted(len(self.records) + len(again), len(self.records))
        with self.way.engine(self.watch) as engine:
            tasks = (self._kept(key, point, folder) for key, point in again.items())
            for done in engine.run(tasks):
                self.watch.ended(again[done.key.removeprefix("kept-")], {"status": "complete", "rows": []})
                done.result()

    def _kept(self, key: str, point: Point, folder: Path) -> Task:
        words = (str(folder), point.combination.data, point.seed, self.way.wall_seconds)
        return Task(f"kept-{key}", carry_kept, words)


def carry(data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress) -> Record:
    """Run a point and measure it; its files go."""
    with scratch() as folder:
        return _carried(folder, data, seed, wall_seconds, lab, progress)


def carry_kept(kept: str, data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress) -> None:
    """Run a point and keep its raw files: in the folder of its combination, as a run directory has them."""
    spec: ExperimentSpec = from_data(ExperimentSpec, data)
    raw = Path(kept, place_of(data)) / "raw" / f"seed-{seed}"
    raw.mkdir(parents=True)
    carry_seed(data, seed, str(raw), Limits(wall_seconds, memory_for(spec)), lab, progress)


def place_of(data: Any) -> str:
    """A folder's name for what a spec asks."""
    return hashlib.sha256(repr(data).encode()).hexdigest()[:24]


def _carried(folder: Path, data: Any, seed: int, wall_seconds: float, lab: Lab, progress: Progress) -> Record:
    spec: ExperimentSpec = from_data(ExperimentSpec, data)
    raw = folder / "raw" / f"seed-{seed}"
    raw.mkdir(parents=True)
    empty: Record = {"status": "failed", "problem": "", "log": "", "rows": [], "warnings": []}
    try:
        usage = carry_seed(data, seed, str(raw), Limits(wall_seconds, memory_for(spec)), lab, progress)
        as_run_directory(folder, data, [seed])
        values: Values = contained(values_of, str(folder))["values"][str(seed)]
    except TcplabError as error:
        return empty | {"problem": str(error)}
    problem = " ".join(judge(spec, seed, raw).failures)
    return empty | {
        "status": "unproved" if problem else "complete", "problem": problem, "usage": asdict(usage),
        "values": values, "files": _digests(raw, spec),
    }  # fmt: skip


def _digests(raw: Path, spec: ExperimentSpec) -> dict[str, str]:
    """What a condition measured; the logs beside it name paths and processes of the machine."""
    files = [file for condition in spec.conditions for file in sorted((raw / condition.name).iterdir())]
    return {f"{raw.name}/{file.relative_to(raw).as_posix()}": hashlib.sha256(file.read_bytes()).hexdigest()
            for file in files if file.is_file()}  # fmt: skip
