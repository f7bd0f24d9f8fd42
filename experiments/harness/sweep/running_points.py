"""Points on the engine: each record is kept as soon as it is known, and handed on as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from experiments.harness.running.seed import needed_mib
from experiments.harness.sweep.carrying_point import carry_captured, carry_rows
from experiments.harness.sweep.point import CAPTURES, ROWS, Point, Record
from experiments.harness.sweep.point_store import PointStore
from experiments.spec import ExperimentSpec
from testbed.engine.certificates import require_tls
from testbed.engine.cluster_extra import require_cluster_extra
from testbed.engine.tasks import Done, Engine, Listener, Task
from testbed.engine.threads import local_engine
from testbed.host.capacity import guests_at_once
from testbed.lab.ready import Lab

_CARRIES = {ROWS: carry_rows, CAPTURES: carry_captured}


class Watch(Listener, Protocol):
    """A listener that hears how the sweep goes on."""

    def wanted(self, points: int, reused: int) -> None:
        """So many points are wanted now, of which so many were known already."""

    def ended(self, point: Point, record: Record) -> None:
        """A point has been run."""


@dataclass(frozen=True)
class PointRunner:
    """How to carry a plan out. `engine` opens one; it is not called if nothing has to be run.

    `slots` guests run at once; None for a cluster, which does not say.
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
    workers: int | None,
    scheduler: str | None,
    wall_seconds: float = 600.0,
    force: bool = False,
) -> PointRunner:
    """The way to guests of this machine, or through a scheduler to those of a cluster.

    `workers` guests run at once on this machine, by default as many as it has room for. Raises
    UsageError if the scheduler's address is not tls://.
    """
    if scheduler:
        require_tls(scheduler)
        require_cluster_extra()
        from testbed.engine.cluster import cluster_engine  # late: only a cluster needs Dask

        return PointRunner(
            ready,
            partial(cluster_engine, scheduler, ready),
            f"cluster {scheduler}",
            wall_seconds,
            force,
        )
    slots = guests_at_once(max(map(needed_mib, specs)), workers)
    return PointRunner(
        ready,
        partial(local_engine, ready, slots),
        f"{slots} on this machine",
        wall_seconds,
        force,
        slots,
    )


def run_points(
    points: Sequence[Point],
    way: PointRunner,
    memory: PointStore,
    watch: Watch,
    carry: Callable[..., Record] | None = None,
) -> Iterator[tuple[Point, Record]]:
    """Run these points, in about this order.

    The engine starts with the first point; without a point there is none.

    `carry(data, seed, wall_seconds, lab, progress)` is what a worker does for a point.
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
    """Each point's record: first those that are known, then the others as they are run."""
    known = memory.done(point.key for point in points)
    watch.wanted(len(points), len(known))
    yield from ((point, known[point.key]) for point in points if point.key in known)
    missing = [point for point in points if point.key not in known]
    yield from run_points(missing, way, memory, watch)


def _task(point: Point, way: PointRunner, carry: Callable[..., Record] | None) -> Task:
    carry = carry or _CARRIES[point.origin.measures]
    return Task(point.key, carry, (point.combination.data, point.seed, way.wall_seconds))


def _broken(done: Done) -> Record:
    """The record of a point that left none, such as one whose worker was lost three times."""
    problem = f"{type(done.error).__name__}: {done.error}"
    return {"status": "failed", "problem": problem, "log": done.trace, "rows": [], "warnings": []}
