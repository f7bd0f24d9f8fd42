"""Tables and groups of rows: what plain Python gives, slowly, for any rows."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from analysis import table as table_module
from analysis.analyze.options import fulfilling
from analysis.table import ColumnTable, ListColumn, RowGroups, TableColumn
from tests.analysis.test_analyze import BOTH

Keys = list[tuple[int, bool]]
KEYS = some.lists(some.tuples(some.integers(0, 3), some.booleans()), max_size=30)
CELLS = some.lists(some.one_of(some.none(), some.integers(-(2**62), 2**62)), max_size=20)


def groups_of(keys: Keys) -> RowGroups:
    return RowGroups(np.array([a for a, _ in keys], np.int64), np.array([b for _, b in keys], bool))


def rows_by_key(keys: Keys) -> dict[tuple[int, bool], list[int]]:
    rows: defaultdict[tuple[int, bool], list[int]] = defaultdict(list)
    for row, key in enumerate(keys):
        rows[key].append(row)
    return rows


@given(KEYS)
def test_groups_have_the_rows_of_a_key_in_their_order(keys: Keys) -> None:
    groups, rows = groups_of(keys), rows_by_key(keys)
    assert sorted(part.tolist() for part in groups.rows) == sorted(rows.values())
    assert groups.turns.tolist() == [rows[key].index(row) for row, key in enumerate(keys)]
    before = [[-1, *rows[key]][rows[key].index(row)] for row, key in enumerate(keys)]
    assert groups.previous.tolist() == before
    assert groups.spread(groups.sizes).tolist() == [len(rows[key]) for key in keys]


@given(KEYS, some.randoms())
def test_what_came_so_far_is_of_the_own_group(keys: Keys, chance: some.randoms) -> None:  # type: ignore[valid-type]
    groups, rows = groups_of(keys), rows_by_key(keys)
    values = np.array([chance.randrange(-9, 9) for _ in keys], np.int64)  # type: ignore[attr-defined]
    so_far = [[other for other in rows[key] if other <= row] for row, key in enumerate(keys)]
    assert groups.sums_so_far(values).tolist() == [values[part].sum() for part in so_far]
    assert groups.greatest_so_far(values).tolist() == [values[part].max() for part in so_far]
    fitting = [[other for other in part if values[other] > 0] for part in so_far]
    assert groups.last(values > 0).tolist() == [max(part, default=-1) for part in fitting]


def test_keys_that_are_mixed_to_one_number_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "_ODD", np.uint64(0))
    groups = RowGroups(np.array([1, 2, 1, 2]), np.array([5, 5, 5, 6]))
    assert sorted(part.tolist() for part in groups.rows) == [[0, 2], [1], [3]]


@given(CELLS)
def test_a_table_can_be_read_from_what_it_wrote(cells: list[int | None]) -> None:
    texts = [None if cell is None else f'"{cell}", ü\n' for cell in cells]
    table = ColumnTable({"number": TableColumn.of(cells, int), "text": TableColumn.of(texts, str)})
    again = ColumnTable.of_csv(table.csv(), {"number": int})
    assert list(again.as_rows()) == list(table.as_rows())
    assert again.to_polars().rows() == list(zip(cells, texts, strict=True))


@pytest.mark.parametrize("text", ["", "a,b\n1\n", 'a\n"1\n'])
def test_what_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        ColumnTable.of_csv(text, {})


def test_a_number_that_is_too_large_is_missing() -> None:
    table = ColumnTable.of_csv(f"seed,rate\n{2**63},1e400\n7,x\n", {"seed": int, "rate": float})
    assert list(table.as_rows()) == [
        {"seed": None, "rate": float("inf")},
        {"seed": 7, "rate": None},
    ]


@given(some.lists(some.lists(some.integers(0, 9), max_size=4), max_size=9), some.data())
def test_lists_stay_with_their_rows(lists: list[list[int]], data: some.DataObject) -> None:
    rows = [row for row, values in enumerate(lists) for _ in values]
    values = np.array([value for part in lists for value in part], np.int64)
    column = ListColumn.of_rows(np.array(rows, np.int64), values, len(lists))
    assert column.to_list() == lists
    chosen = data.draw(some.lists(some.sampled_from(range(len(lists))))) if lists else []
    assert column[np.array(chosen, np.int64)].to_list() == [lists[row] for row in chosen]
    table = ColumnTable({"values": ListColumn.joined([column, column])})
    assert table.to_polars()["values"].to_list() == lists + lists


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("rtt > 3 and RTT < 1.5", [False, False, True]),
        ("host = 'it''s rtt' or \"rtt\" is null", [True, True, False]),
        ("rtt / 2.0 > 2", [True, False, True]),
        ("large > 1.8e19", [True, True, True]),
    ],
)
def test_conditions_tell_capitals_apart_and_keep_texts(condition: str, rows: list[bool]) -> None:
    table = ColumnTable.of(
        rtt=TableColumn.of([5, None, 7], int),
        RTT=np.array([2.5, 1.0, 1.0]),
        host=TableColumn.of(["it's rtt", "b", "c"]),
        large=np.full(3, 2**64 - 1, np.uint64),
    )
    assert fulfilling(table, condition).tolist() == rows


WITHOUT = """
import sys
sys.modules["polars"] = None
from analysis.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (("--out", "OUT", "--write", "html,csv,json,events"), 0),
        (("--where", "port_b > 0", "--json", "--events"), 0),
        (("--write", "csv,parquet", "--out", "OUT"), 2),
    ],
)
def test_polars_is_needed_for_its_own_files_alone(
    tmp_path: Path, words: tuple[str, ...], status: int
) -> None:
    given_words = [word.replace("OUT", str(tmp_path / "out")) for word in words]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, "analyze", str(BOTH[0]), *given_words],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == status, done.stderr
    assert ("needs Polars, which is not installed" in done.stderr) == (status == 2)
    assert (tmp_path / "out").exists() == (status == 0 and "--out" in words)
