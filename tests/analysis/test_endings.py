"""What did not end: in numbers, percentiles, expressions, first lines, curves and sweeps."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from analysis.graphs.distributions import box, curve
from analysis.graphs.layers import Axis, Graph, GraphGroup
from analysis.measures.evidence import read_evidence
from analysis.measures.expressions import Operation, PlainNumber
from analysis.measures.flow_readings import percentile
from analysis.measures.results import measure_all
from analysis.measures.sweep_folder import read_sweep
from analysis.network.verdict import NetworkVerdict, Usability
from analysis.pages.run import make_report, verdict_on_claim
from analysis.pages.sweep import make_sweep_report
from analysis.records.json_reader import Problems
from analysis.records.run_directory import read_run
from analysis.records.trial_files import ExchangeRow, ExchangesFile
from analysis.reporting.endings import Endings, data, died, sentence
from analysis.reporting.flows import responding
from analysis.statistics.claims import ClaimVerdict, ClaimWord
from analysis.statistics.comparisons import compare, unended
from analysis.statistics.sweep_samples import read_samples
from tests.analysis.sweep_folders import change_rows, write_sweep
from topologies.notation import json_document


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


def test_the_rate_of_a_flow_that_died_shows_no_claim(run_directory: Path) -> None:
    """The network was only to be used with care, and the claim was shown."""
    sentence_of = "the connection of flow1 failed before its duration ended (1 of 2 measurements)."
    for amount, expected in ((None, sentence_of), ("1MB", "")):
        spec = json.loads((run_directory / "spec.json").read_text())
        spec["flows"][0]["amount"] = amount
        (run_directory / "spec.json").write_text(json.dumps(spec))
        for file in run_directory.glob("raw/seed-*/sack_off/flow1.client.txt"):
            line = "tcp write failed: Connection timed out\n"
            file.write_text(line + file.read_text().removeprefix(line))
        results = measure_all(read_run(run_directory, Problems()), Problems())
        assert died(results) == expected
        (off, on) = (trial.flows[0].number("client_seconds") for trial in results.measured)
        assert off == inf and on is not None and on < inf
    shown = ClaimVerdict("Q", "c", ClaimWord.SHOWN, "it is.")
    network = NetworkVerdict(Usability.GOOD, (), ())
    for amount, word in ((None, "not shown"), ("1MB", "shown")):
        spec["flows"][0]["amount"] = amount
        (run_directory / "spec.json").write_text(json.dumps(spec))
        results = measure_all(read_run(run_directory, Problems()), Problems())
        verdict = verdict_on_claim(shown, results, read_evidence(results.run, Problems()), network)
        assert verdict is not None and verdict.word == word


def test_json_has_null_with_a_word_for_what_did_not_end() -> None:
    document = json.loads(json_document({"values": [1.0, inf], "pair": (2, {"low": -inf})}))
    assert document["values"] == [1.0, None] and document["pair"] == [2, {"low": None}]
    assert "did not end" in document["note"]
    assert "note" not in json.loads(json_document({"pair": (1, 2.5)}))


def test_a_box_has_no_dot_for_what_did_not_end() -> None:
    layers = tuple(box(np.array([1.0, 2.0, 3.0, inf]), 0.0, 0, "a"))
    dots = next(layer for layer in layers if layer.shape == "dots")
    assert sorted(dots.y.tolist()) == [1.0, 2.0, 3.0]
    graph = Graph("box", "", "", Axis("x", ""), Axis("y", ""), layers)
    assert GraphGroup("g", "T", "Boxes.", (graph,)).caption.endswith("is not drawn.")
    whole = replace(graph, layers=tuple(box(np.array([1.0, 2.0]), 0.0, 0, "a")))
    assert GraphGroup("g", "T", "Boxes.", (whole,)).caption == "Boxes."
