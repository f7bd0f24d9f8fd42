"""What did not end: in numbers, percentiles, expressions, first lines, curves and sweeps."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis.graphs.distributions import curve
from analysis.measures.expressions import Operation, PlainNumber
from analysis.measures.flow_readings import percentile
from analysis.measures.results import measure_all
from analysis.measures.sweep_folder import read_sweep
from analysis.pages.run import make_report
from analysis.pages.sweep import make_sweep_report
from analysis.records.json_reader import Problems
from analysis.records.run_directory import read_run
from analysis.records.trial_files import ExchangeRow, ExchangesFile
from analysis.reporting.endings import Endings, data, sentence
from analysis.reporting.flows import responding
from analysis.statistics.comparisons import compare, unended
from analysis.statistics.sweep_samples import read_samples
from tests.analysis.sweep_folders import change_rows, write_sweep


def with_traffic(run: Path, ended: int, failed: int, of: int, open_ended: bool = False) -> None:
    """Give flow1 exchanges of 100 ms, of which the last do not end in 20 s, or never begin."""
    rows = [{"began": 1.0, "ended": 1.1 if each < ended else None} for each in range(of)]
    for row in rows[ended : ended + failed]:
        row["failed"] = "ETIMEDOUT"  # type: ignore[assignment]
    rows[-1]["began"] = None if open_ended else rows[-1]["began"]
    content = {"observed": 20.0, "as_time_allows": open_ended, "exchanges": rows}
    for folder in run.glob("raw/seed-*/sack_*"):
        (folder / "flow1.exchanges.json").write_text(json.dumps(content))


def test_percentiles_count_what_did_not_end_as_the_longest() -> None:
    assert percentile([4.0, 1.0, 2.0, 3.0], 50) == 2.5
    assert percentile([1.0, 2.0, inf, inf], 50) == inf
    assert percentile([inf, 1.0, inf, 2.0, 3.0], 50) == 3.0
    assert percentile([1.0, 2.0, 3.0, inf], 50) == 2.5
    assert percentile([inf, inf, inf], 99) == inf


def test_an_expression_of_what_did_not_end_is_infinite_or_nothing() -> None:
    never, two = PlainNumber(inf), PlainNumber(2.0)
    assert Operation("/", never, two).value(lambda _: None) == inf
    assert Operation("-", never, two).value(lambda _: None) == inf
    assert Operation("/", two, never).value(lambda _: None) == 0
    assert Operation("-", two, never).value(lambda _: None) is None
    assert Operation("/", never, never).value(lambda _: None) is None


def test_a_bound_is_the_time_for_which_an_exchange_was_seen() -> None:
    rows = (ExchangeRow(1, 1.0, 1.5), ExchangeRow(1, 4.0), ExchangeRow(1))
    found = ExchangesFile(observed=6.0, exchanges=rows)
    assert [found.at_least(each) for each in rows] == [500.0, 2000.0, 0.0]
    assert len(found.due) == 3 and len(ExchangesFile(0, 6.0, True, rows).due) == 2


def test_numbers_stand_on_the_page_and_in_json(run_directory: Path) -> None:
    with_traffic(run_directory, ended=6, failed=2, of=10)
    results = measure_all(read_run(run_directory, Problems()), Problems())
    counted = {"planned": 10, "begun": 10, "ended": 6, "failed": 2, "due": 10}
    assert data(results) == [{"condition": each, **counted} for each in ("sack_off", "sack_on")]
    (listing,) = responding(results)
    assert listing.head[1:5] == ("Planned", "Begun", "Ended", "Failed")
    assert listing.rows[0][1:7] == ("10", "10", "6", "2", "100", "at least 19,000")
    report = make_report(run_directory)
    assert report.first_lines[0].endswith("the others count as the longest.")
    assert json.loads((run_directory / "claim.json").read_text())["endings"] == data(results)


def test_users_are_not_missed_where_the_time_was_short(run_directory: Path) -> None:
    with_traffic(run_directory, ended=9, failed=0, of=10, open_ended=True)
    results = measure_all(read_run(run_directory, Problems()), Problems())
    assert sentence(results) == ""


def test_shares_that_differ_by_more_than_chance_are_named() -> None:
    assert Endings(100, 100, 100, 0, 100).differs(Endings(100, 100, 96, 0, 100))
    assert not Endings(100, 100, 100, 0, 100).differs(Endings(100, 100, 98, 0, 100))
    assert not Endings(10, 10, 10, 0, 10).differs(Endings(10, 10, 10, 0, 10))


def test_a_curve_ends_at_the_share_that_ended() -> None:
    line, *_ = curve("", np.array([1.0, 2.0, 3.0, inf]), 0)
    assert line.y[-1] == pytest.approx(0.75)
    assert curve("", np.array([inf, inf]), 0) == []
    assert len(curve("", np.array([1.0, inf, inf]), 0)) == 1


def test_a_sweep_compares_what_did_not_end_as_the_longest(tmp_path: Path) -> None:
    """With reno two of three exchanges end, and the 95th percentile is among the others."""
    folder, reno = write_sweep(tmp_path, seeds=9, metric="exchange_p95_ms"), pl.col("cc") == "reno"
    times = pl.when(reno).then(inf).otherwise(100.0 + pl.col("seed"))
    missing = pl.when(reno).then(0.5).otherwise(0.0)
    change_rows(folder, times.alias("exchange_p95_ms"), missing.alias("exchanges_missing"))
    sweep = read_sweep(folder, Problems())
    samples = read_samples(sweep, Problems())
    assert samples.median[0].tolist() == [105.0, inf, 105.0]
    verdicts = [(each.first, each.second, each.verdict) for each in compare(sweep, samples)]
    assert ("cubic", "reno", "larger") in verdicts and ("reno", "bbr", "smaller") in verdicts
    assert "in the worst cell 67 %" in unended(samples)
    make_sweep_report(folder)


def test_seeds_of_a_sweep_are_copies_if_all_of_their_rows_agree(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, seeds=9)
    steady = pl.when(pl.col("cc") == "reno").then(9.5).otherwise(9.4)
    change_rows(folder, steady.alias("goodput_kbit_s"))
    sweep = read_sweep(folder, Problems())
    (pair, *_) = compare(sweep, read_samples(sweep, Problems()))
    assert pair.paired and pair.paired.copies
    change_rows(folder, (1.0 + pl.col("seed")).alias("rtt_median_ms"))
    (pair, *_) = compare(sweep, read_samples(sweep, Problems()))
    assert pair.paired and not pair.paired.copies and pair.verdict == "larger"
