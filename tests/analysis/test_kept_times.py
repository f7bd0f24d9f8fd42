"""A stage of many packets keeps the beginning and the surroundings of each loss, and says so."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.graphs import stored
from analysis.graphs.stored import KeptTimes
from analysis.table import ColumnTable, TableColumn

TRIP = 1000
LOST = (40_000, 90_000)


def packets(count: int, every: int = 10) -> ColumnTable:
    """Packets that arrive TRIP after they were sent, but for those sent at LOST."""
    times = np.arange(count, dtype=np.int64) * every
    return ColumnTable(
        {
            "time": TableColumn(times),
            "arrived": TableColumn(times + TRIP, ~np.isin(times, LOST)),
            "kind": TableColumn(np.ones(count, np.uint8)),
        }
    )


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "MOST_PACKETS", 3000)


def test_a_short_run_is_kept_whole() -> None:
    table, none = packets(1500), packets(0)
    kept = KeptTimes.of(table, none)
    assert kept.spans == () and kept.rows(table) is table and kept.stored(0) == {}


def test_of_a_long_run_the_beginning_and_each_loss_are_kept() -> None:
    table, none = packets(10_000), packets(0)
    kept = KeptTimes.of(table, none)
    times = kept.rows(table)["time"].values
    assert set(LOST) <= {*times.tolist()} and len(times) <= 3000
    assert (times <= 15_000).sum() == 1501
    for at in LOST:
        around = (times >= at - 4 * TRIP) & (times <= at + 2 * TRIP)
        assert around.sum() == 6 * TRIP // 10 + 1
    assert kept.stored(0)["last"] == pytest.approx(99_990 / 1e9)
    assert kept.stored(0)["kept"][0] == [0, 1.5e-5]
