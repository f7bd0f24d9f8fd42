"""What a sweep says while it goes on, and how long it waits."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rich.console import Console
from rich.progress import Progress

from experiments.cli.sweep import _patience
from experiments.sweep import run
from experiments.sweep.definition import SweepDefinition, plan
from experiments.sweep.point import Point, Record
from experiments.sweep.results import GridSweep
from experiments.sweep.run import PointRunner, PrintedProgress, carry_out
from tests.unit.made_sweeps import LAB, Engine, record, sack_plan


def said(tmp_path: Path, made: Record) -> list[str]:
    with io.StringIO() as out:
        console = Console(file=out, width=200)
        with Progress(console=console, disable=True) as bar:
            shown = PrintedProgress(console, bar, bar.add_task("sack", total=None, clock=""))
            wanted = GridSweep(sack_plan("loss=1%", "duration=2s"))
            carry_out(
                wanted, tmp_path, PointRunner(LAB, Engine(lambda _data, _seed: made), "two"), shown
            )
        return out.getvalue().splitlines()


def test_a_failed_run_has_a_line(tmp_path: Path) -> None:
    assert said(tmp_path, record(1.0)) == ["1 runs to do, of which 0 are stored."]
    _, failed = said(tmp_path / "f", record(1.0, "failed"))
    assert failed.startswith("failed: sack, loss 1%")


@contextmanager
def counting(points: int) -> Iterator[tuple[PrintedProgress, list[Point], io.StringIO]]:
    """A progress without a terminal, these points of one sweep, and what is printed."""
    wanted = sack_plan("loss=1%", "duration=2s")
    (combination,) = wanted.combinations
    made = [wanted.origin(LAB).point(combination, seed) for seed in range(points)]
    with io.StringIO() as out, Progress(disable=True) as bar:
        bar.console.file = out
        task = bar.add_task("sack", total=None, clock="")
        yield PrintedProgress(bar.console, bar, task), made, out


def test_the_count_ends_at_its_full_number_when_later_batches_are_partly_known(monkeypatch) -> None:
    monkeypatch.setattr(run, "_BETWEEN", -1.0)
    with counting(24) as (shown, points, out):
        shown.wanted(12, 0)
        for point in points[:12]:
            shown.ended(point, record(1.0))
        shown.wanted(24, 7)
        for point in points[19:]:
            shown.ended(point, record(1.0))
        assert out.getvalue().splitlines()[-1].startswith("24 of 24 points")


def test_the_last_count_is_printed_once_others_were(monkeypatch: pytest.MonkeyPatch) -> None:
    with counting(3) as (shown, points, out):
        shown.wanted(3, 0)
        for point, between in zip(points, (-1.0, 1e9, 1e9), strict=True):
            monkeypatch.setattr(run, "_BETWEEN", between)
            shown.ended(point, record(1.0))
        counts = [line.partition(",")[0] for line in out.getvalue().splitlines()[1:]]
    assert counts == ["1 of 3 points", "3 of 3 points"]


def test_a_point_may_take_twice_its_own_clock() -> None:
    quick, full = (
        plan(SweepDefinition("sack_loss_sweep", (("loss", ("1%", "2%")), ("duration", (time,)))))
        for time in ("30s", "300s")
    )
    assert (_patience(quick), _patience(full)) == (600.0, 1200.0)
