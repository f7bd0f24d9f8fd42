"""`--write ndjson,directions`: plain names, timestamps, a row a connection or a direction."""

from __future__ import annotations

import csv
import json
import re
import sqlite3
from pathlib import Path

from analysis import flows
from analysis.analyze.files import SCHEMA, names
from analysis.flows.columns import OURS, TCPTRACE
from tests.analysis.captures import MadeCapture
from tests.analysis.test_analyze import analyze


def test_names_need_no_quotes_and_differ_without_case() -> None:
    plain = list(names().values())
    assert all(re.fullmatch(r"[A-Za-z]\w*", name) for name in plain)
    assert len({name.lower() for name in plain}) == len(plain)
    assert set(names()) == {column.name for column in (*OURS, *TCPTRACE)}


def test_both_tables_have_what_was_read(tmp_path: Path) -> None:
    """Of two connections the second has data of b; a database takes the names as they are."""
    capture = MadeCapture()
    for number in (0, 1):
        flow = capture.flow(ports=(40_000 + number, 80)).open(number)
        (flow.b if number else flow.a).burst(number + 0.1, 3)
    path, out = capture.write(tmp_path), tmp_path / "out"
    result = analyze(path, "--out", out, "--write", "ndjson,directions")
    assert result.exit_code == 0, result.output
    read = flows.read(path).connections
    lines = [json.loads(line) for line in (out / "connections.ndjson").read_text().splitlines()]
    with (out / "directions.csv").open() as table:
        rows = list(csv.DictReader(table))
    assert [line["unique_bytes_sent_b2a"] for line in lines] == [0, 3000]
    assert [line["rtt_p50_a2b"] for line in lines] == read["rtt_p50_a2b"].to_list()
    assert {line["schema"] for line in lines} == {SCHEMA}
    # pandas takes numbers in columns of these names for dates (pandas.read_json, convert_dates).
    dates = ("_at", "_time"), ("timestamp", "date", "modified")
    assert not [n for n in lines[0] if n.endswith(dates[0]) or n.startswith(dates[1])]
    assert lines[1]["connect_time_ns"] == 40_000_000
    assert lines[1]["first_packet"] == "2023-11-14T22:13:21.000000000Z"
    assert [row["direction"] for row in rows] == ["a2b", "b2a"] * 2
    assert [row["unique_bytes_sent"] for row in rows] == ["3000", "0", "0", "3000"]
    assert [row["source_port"] for row in rows] == ["40000", "80", "40001", "80"]
    with sqlite3.connect(":memory:") as database:
        database.execute(f"create table t ({', '.join(rows[0])})")
        database.execute(f"create table u ({', '.join(lines[0])})")
