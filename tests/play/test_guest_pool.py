"""The guests that wait: how many there are, and when they boot."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest

from experiments.play import guests
from experiments.play.guests import WALL_SECONDS, GuestPool
from experiments.play.settings import PlaySettings
from experiments.run.seed import limits_for
from testbed.host.supervise import Limits
from testbed.lab.ready import Lab
from tests.play.serving import wait_until

SIZE = 3
LIMITS = limits_for(PlaySettings().spec(), WALL_SECONDS)
LARGER = replace(LIMITS, memory_mib=2 * LIMITS.memory_mib)
"""Those of a run that no waiting guest fits."""


class MadeGuest(threading.Thread):
    """A guest without a kernel, ready when it is let."""

    booted: list[MadeGuest]

    def __init__(self, _lab: Lab, _limits: Limits, _processor: int | None) -> None:
        super().__init__(daemon=True)
        self.ready, self.over = threading.Event(), threading.Event()
        self.booted.append(self)

    def run(self) -> None:
        self.over.wait()

    def end(self) -> None:
        self.ready.set()
        self.over.set()


@pytest.fixture
def booted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[MadeGuest]]:
    """All guests so far, in order."""
    MadeGuest.booted = []
    monkeypatch.setattr(guests, "WaitingGuest", MadeGuest)
    yield MadeGuest.booted
    assert all(guest.over.is_set() for guest in MadeGuest.booted)


def pool() -> GuestPool:
    return GuestPool(None, [0], SIZE)  # type: ignore[arg-type]


def fill(booted: list[MadeGuest], until: int) -> None:
    for count in range(1, until + 1):
        wait_until(lambda count=count: len(booted) == count)  # type: ignore[misc]
        assert not any(guest.ready.is_set() for guest in booted[count - 1 :])
        booted[-1].ready.set()


def test_guests_boot_one_after_another(booted: list[MadeGuest]) -> None:
    with pool():
        fill(booted, SIZE)


def test_none_boots_between_runs_until_all_are_taken(booted: list[MadeGuest], monkeypatch) -> None:
    with pool() as waiting:
        fill(booted, SIZE)
        monkeypatch.setattr(guests, "_QUIET", 3600.0)
        for number in range(SIZE - 1):
            assert waiting.take(LIMITS) is booted[number]  # type: ignore[comparison-overlap]
            waiting.fill_soon()
        assert waiting._next_guest() is None and len(booted) == SIZE
        waiting.take(LIMITS)
        waiting.fill_soon()
        wait_until(lambda: len(booted) == SIZE + 1)


def test_none_boots_while_a_run_goes_on(booted: list[MadeGuest], monkeypatch) -> None:
    with pool() as waiting:
        fill(booted, SIZE)
        monkeypatch.setattr(guests, "_QUIET", 0.0)
        waiting.take(LIMITS)
        assert waiting._next_guest() is None and len(booted) == SIZE
        waiting.fill_soon()
        wait_until(lambda: len(booted) == SIZE + 1)


def test_a_guest_that_cannot_start_counts_as_no_run(booted: list[MadeGuest], monkeypatch) -> None:
    """Where the machine allows no further thread, for example."""
    with pool() as waiting:
        fill(booted, SIZE)
        monkeypatch.setattr(guests, "_QUIET", 0.0)
        with monkeypatch.context() as refusing, pytest.raises(RuntimeError):
            refusing.setattr(guests, "WaitingGuest", _refused)
            waiting.take(LARGER)
        waiting.take(LIMITS)
        waiting.fill_soon()
        wait_until(lambda: len(booted) == SIZE + 1)


def _refused(*_: object) -> None:
    raise RuntimeError("can't start new thread")
