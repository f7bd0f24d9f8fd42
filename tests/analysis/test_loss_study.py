"""The loss sweep's own table, answers and graph, from a recorded sweep."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from analysis.__main__ import main
from analysis.reporting.tables import Listing
from experiments.reporting.studies import make_sweep_report, report_of
from experiments.sack_loss_sweep.report import answers, published_lines

DATA = Path(__file__).parent / "data" / "loss"


def folder_of(out: Path, keep: pl.Expr | bool = True, **changes: Any) -> Path:
    """The recorded sweep as a folder, with those rows."""
    folder = out / "sweep"
    folder.mkdir()
    facts = json.loads((DATA / "sweep.json").read_text())
    (folder / "sweep.json").write_text(json.dumps(facts | changes))
    pl.read_csv(DATA / "rows.csv").filter(keep).write_csv(folder / "rows.csv")
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Listing:
    (listing,) = make_sweep_report(folder_of(tmp_path_factory.mktemp("loss"))).listings
    return listing


def test_the_table_has_the_published_columns_and_order(table: Listing) -> None:
    assert table.head[:6] == ("SACK", "Loss-Rate", "retrans-%", "Min", "Average", "Max")
    assert [row[0] for row in table.rows] == ["0"] * 7 + ["1"] * 7
    losses = ["0.000001", "0.009", "0.02", "0.05", "0.5", "1", "5"]
    assert [row[1] for row in table.rows[:7]] == losses
    recorded = pl.read_csv(DATA / "rows.csv").filter(loss="0.5%", condition="sack_on").to_dicts()[0]
    (row,) = (row for row in table.rows if row[:2] == ("1", "0.5"))
    rates = (recorded[f"{which}_second_kbit_s"] / 1000 for which in ("slowest", "mean", "fastest"))
    expected = pytest.approx([recorded["resent_percent"], *rates], rel=1e-5)
    assert [float(cell) for cell in row[2:6]] == expected


def test_every_published_line_is_found_beside_ours(table: Listing) -> None:
    assert all(cell != "\N{EN DASH}" for row in table.rows for cell in row)
    assert table.rows[1][6:] == ("0.0175471", "556", "908.62", "957")


def test_a_run_without_a_value_leaves_its_line_out(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    rows = pl.read_csv(folder / "rows.csv")
    is_one = (pl.col("loss") == "0.5%") & (pl.col("condition") == "sack_on")
    known = pl.when(~is_one).then(pl.col("resent_percent"))
    rows.with_columns(known.alias("resent_percent")).write_csv(folder / "rows.csv")
    (listing,) = make_sweep_report(folder).listings
    assert [row[1] for row in listing.rows if row[0] == "1"].count("0.5") == 0
    assert len(listing.rows) == 13


def test_the_published_lines_give_the_published_answers() -> None:
    """The author's own: 5 % go at 0.034 % of retransmissions without SACK, at 0.51 % with; of a
    second at 0.0019 %.
    """
    _, off, on, _, slowest, _, most = answers((), published_lines())
    assert (
        "Published: from a loss of 0.02 % on, where 0.0338 % of the segments are sent again: 881"
        " Mbit/s" in off
    )
    assert (
        "Published: from a loss of 0.5 % on, where 0.512 % of the segments are sent again: 883"
        " Mbit/s" in on
    )
    assert "from a loss of 0.001 % on, where 0.00195 %" in slowest
    assert "at 4 %, where the rate with SACK is 4.72 times" in most
    assert off.startswith("SACK off: not measured.")


def test_ours_are_computed_from_the_rows(table: Listing) -> None:
    question, off, on = table.notes[1:4]
    assert question.startswith("From which loss on is the average rate more than 5 % below")
    assert off.startswith(
        "SACK off: from a loss of 0.05 % on, where 0.143 % of the segments are sent again: 871"
        " Mbit/s"
    )
    assert on.startswith("SACK on: from a loss of 1 % on")
    assert "0.009" not in off


def test_a_rate_that_never_falls_is_said_to(tmp_path: Path) -> None:
    made = make_sweep_report(folder_of(tmp_path, pl.col("loss_percent") < 0.01))
    assert made.listings[0].notes[3].startswith("SACK on: not up to a loss of 0.009 %.")


def test_a_sweep_that_varies_more_has_no_such_table(tmp_path: Path) -> None:
    facts = json.loads((DATA / "sweep.json").read_text())
    delay = dict.fromkeys(("name", "column"), "delay") | {"kind": "word", "values": ["1ms", "2ms"]}
    made = make_sweep_report(folder_of(tmp_path, factors=[*facts["factors"], delay]))
    assert made.listings == () and made.effect is None


def test_terminal_and_page_show_effect_table_and_graph(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    done = CliRunner().invoke(main, ["sweep", str(folder)], obj=report_of)
    assert done.exit_code == 0, done.output
    assert re.match(
        r"SACK matters most at 5 %, where the rate with SACK is [\d.]+ times", done.output
    )
    page = (folder / "sweep.html").read_text()
    assert "From which loss on is the slowest second more than 5 % below" in page
    assert "What retransmissions cost, without and with SACK" in page
    for graph in ("loss_linear", "loss_logarithmic"):
        assert f'<section class="graph" id="{graph}">' in page
