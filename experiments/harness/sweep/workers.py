"""The way of points to guests: on this machine or on a cluster; each record is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

from experiments.harness.running.seed import needed_mib
from experiments.harness.sweep.measure import carry_captured, carry_rows
from experiments.harness.sweep.point import CAPTURES, ROWS, Point, Record
from experiments.harness.sweep.store import PointStore
from experiments.spec import ExperimentSpec
from testbed.engine.certificates import require_tls
from testbed.engine.tasks import Done, Engine, Listener, Task, local_engine, require_cluster_extra
from testbed.host.capacity import guests_at_once
from testbed.lab.ready import Lab

_CARRIES = {ROWS: carry_rows, CAPTURES: carry_captured}


class Watch(Listener):
    """The progress of a sweep, which this class ignores; subclasses show it."""

    def wanted(self, points: int, reused: int) -> None:
        """Hear that `points` are wanted now, of which `reused` were known already."""

    def ended(self, point: Point, record: Record) -> None:
        """Hear that a point has been run."""


@dataclass(frozen=True)
class PointRunner:
    """The way to workers. `engine` opens an engine; it is called only if a point has to be run.

    `slots` guests run in parallel; a cluster has None.
    """

    lab: Lab
    engine: Callable[[Listener], AbstractContextManager[Engine]]
    workers: str
    wall_seconds: float = 600.0
    force: bool = False
    slots: int | None = None


def way_to_workers(
    ready: Lab,
    specs: Iterable[ExperimentSpec],
    workers: int | None = None,
    scheduler: str | None = None,
) -> PointRunner:
    """Return the way to guests of this machine, or through a scheduler to those of a cluster.

    `workers` guests run in parallel on this machine, by default as many as it has room for. Raises
    UsageError if the scheduler's address is not tls://.
    """
    if scheduler:
        require_tls(scheduler)
        require_cluster_extra()
        from testbed.engine.cluster import cluster_engine  # late: only a cluster needs Dask

        return PointRunner(ready, partial(cluster_engine, scheduler, ready), f"cluster {scheduler}")
    slots = guests_at_once(max(map(needed_mib, specs)), workers)
    return PointRunner(
        ready, partial(local_engine, ready, slots), f"{slots} on this machine", slots=slots
    )


def run_points(
    points: Sequence[Point],
    way: PointRunner,
    memory: PointStore,
    watch: Watch,
    carry: Callable[..., Record] | None = None,
) -> Iterator[tuple[Point, Record]]:
    """Run these points, in about this order; each record is stored and then yielded.

    The engine starts with the first point. A worker calls `carry(data, seed, wall_seconds, lab,
    progress)` for a point.
    """
    if not points:
        return
    by_key = {point.key: point for point in points}
    with way.engine(watch) as engine:
        for done in engine.run(_task(point, way, carry) for point in by_key.values()):
            point, record = by_key[done.key], done.value if done.error is None else _broken(done)
            memory.add(point.combination.spec.name, point, record)
            watch.ended(point, record)
            yield point, record


def known_and_run(
    points: Sequence[Point], way: PointRunner, memory: PointStore, watch: Watch
) -> Iterator[tuple[Point, Record]]:
    """Yield each point's record: first those that are known, then the others as they are run."""
    known = memory.done(point.key for point in points)
    watch.wanted(len(points), len(known))
    yield from ((point, known[point.key]) for point in points if point.key in known)
    missing = [point for point in points if point.key not in known]
    yield from run_points(missing, way, memory, watch)


def _task(point: Point, way: PointRunner, carry: Callable[..., Record] | None) -> Task:
    if metric := point.origin.metric:
        carry = partial(carry_rows, metric=metric)
    carry = carry or _CARRIES[point.origin.measures]
    return Task(point.key, carry, (point.combination.data, point.seed, way.wall_seconds))


def _broken(done: Done) -> Record:
    """Return the record of a point without one, such as after three lost workers."""
    problem = f"{type(done.error).__name__}: {done.error}"
    return {"status": "failed", "problem": problem, "log": done.trace, "rows": [], "warnings": []}
