"""Whole sweep folders with a known truth: verdicts, pages and pictures; and folders that are broken
or hostile.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner, Result

from analysis.__main__ import main
from analysis.graphs.layers import Graph
from analysis.measures.metrics import columns
from analysis.measures.sweep_folder import SweepRecord, read_sweep
from analysis.pages.sweep import print_sweep
from analysis.pages.sweep_differences import differences, metrics_that_differ
from analysis.records.json_reader import Problems
from analysis.statistics.comparisons import compare
from analysis.statistics.paired_tests import DifferenceVerdict
from analysis.statistics.sweep_samples import SweepSamples, read_samples
from experiments.reporting.studies import make_sweep_report, report_of
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, Page
from tests.analysis.page_tags import PageTags
from tests.analysis.sweep_folders import DELAYS, EFFECTS, change, change_rows, factor, write_sweep
from topologies.errors import TcplabError, UsageError

HOSTILE = "<script>alert(1)</script>'\"&\x1b[31m"


def _sweep(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["sweep", *map(str, arguments)], obj=report_of)


def _read(folder: Path) -> tuple[SweepRecord, SweepSamples, Problems]:
    problems = Problems()
    sweep = read_sweep(folder, problems)
    return sweep, read_samples(sweep, problems), problems


def _drawn(folder: Path) -> list[str]:
    """The graphs for which the page has a place, in its order."""
    return re.findall(r'<section class="graph" id="([^"]+)">', (folder / "sweep.html").read_text())


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of the words alone: drawing takes most of a page's time."""
    monkeypatch.setattr("analysis.pages.sweep.graphs", lambda *_: [])


def test_the_truth_is_found_and_nothing_else_is_claimed(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path)
    result = _sweep(folder)
    assert result.exit_code == 0, result.output
    assert "Shown in 4 of 6 comparisons: that goodput at the receiver differs." in result.output
    found = list(csv.DictReader((folder / "comparisons.csv").read_text().splitlines()))
    assert [(row["delay"], row["first"], row["second"], row["verdict"]) for row in found] == [
        (delay, first, second, verdict)
        for delay in DELAYS
        for first, second, verdict in (
            ("cubic", "reno", "smaller"),
            ("cubic", "bbr", DifferenceVerdict.UNSHOWN),
            ("reno", "bbr", "larger"),
        )
    ]
    assert all(
        float(row["low"]) < EFFECTS[row["second"]] / EFFECTS[row["first"]] < float(row["high"])
        for row in found
    )


def test_the_page_is_one_file_with_its_graphs(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, flows=2)
    made = make_sweep_report(folder)
    tags, page = PageTags(made.page), made.page.read_text()
    assert all(link.startswith("data:") for link in tags.links)
    assert str(folder) not in page
    panels = ("boxes", "distribution", "flows", "shares")
    drawn = [f"{name}_{at}" for name in panels for at in (0, 1)]
    assert _drawn(folder) == ["differences_0", "lines_0", *drawn]
    assert not list(folder.rglob("*.partial"))


def test_three_factors_are_drawn_in_panels(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path)
    of_seed = pl.when(pl.col("seed") % 2 == 0).then(pl.lit("0%")).otherwise(pl.lit("1%"))
    change_rows(folder, of_seed.alias("loss"))
    share = (pl.col("loss") == "1%").cast(pl.Float64).alias("loss_share")
    change_rows(folder, share, (pl.col("seed") + 1) // 2)
    loss = factor("loss", ["0%", "1%"], "loss_share", kind="share", meaning="Loss.")
    change(folder, factors=[*json.loads((folder / "sweep.json").read_text())["factors"], loss])
    made = make_sweep_report(folder)
    assert made.sound, made.remarks
    assert len(made.comparisons) == 12
    kinds = {key.rpartition("_")[0] for key in _drawn(folder)}
    assert kinds == {"differences", "lines", "boxes", "distribution"}


def test_differences_are_drawn_with_their_intervals_and_verdicts(tmp_path: Path) -> None:
    sweep, samples, _ = _read(write_sweep(tmp_path))
    comparisons = compare(sweep, samples)
    group = differences(sweep, samples, comparisons)
    assert group
    (graph,) = group.graphs
    dots = {
        (layer.words, float(y)): float(x)
        for layer in graph.layers
        if layer.shape == "dots"
        for x, y in zip(layer.x, layer.y, strict=True)
    }
    bars = {float(y): ends for y, ends in _bars(graph)}
    for row, each in enumerate(comparisons):
        assert each.paired and dots[each.verdict, -float(row)] == each.paired.estimate
        assert bars[-float(row)] == (each.paired.low, each.paired.high)
    assert len(dots) == len(graph.y.ticks) == len(comparisons)


def _bars(graph: Graph) -> Iterator[tuple[float, tuple[float, float]]]:
    for layer in graph.layers:
        if layer.shape == "bars" and layer.end is not None:
            yield from zip(layer.y, zip(layer.x, layer.end, strict=True), strict=True)


def test_metrics_that_differ_are_small_multiples_on_axes_that_fit(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path)
    assert metrics_that_differ(*_read(folder)[:2]) is None, "all others are 1 everywhere"
    change_rows(folder, (90 + 5 * (pl.col("cc") == "bbr")).cast(pl.Float64).alias("rtt_median_ms"))
    group = metrics_that_differ(*_read(folder)[:2])
    assert group and [graph.key for graph in group.graphs] == ["metric_rtt_median_ms"]
    low, high = group.graphs[0].y.range or (0, 0)
    assert 80 < low < 90 and 95 < high < 100


@pytest.mark.parametrize("seeds", [1, 5])
def test_few_seeds_say_that_they_can_show_nothing(tmp_path: Path, seeds: int) -> None:
    made = make_sweep_report(write_sweep(tmp_path, seeds=seeds))
    page = made.page.read_text()
    assert all(one.verdict == DifferenceVerdict.UNSHOWN for one in made.comparisons)
    assert "it takes at least 8 (--seeds 8)" in page
    assert ("One seed: no interval" if seeds == 1 else "5 seeds: no interval") in page
    if seeds == 1:
        (sentence,) = made.headline
        assert sentence.startswith("Not shown: one seed cannot show a difference")
        assert "How they compare" in page and "<summary>Differences" not in page


def test_conditions_are_a_factor_under_their_labels(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path)
    off = pl.when(pl.col("cc") == "reno").then(pl.lit("off")).otherwise(pl.lit("on"))
    keep = (pl.col("cc") != "bbr") & (pl.col("delay") == "10ms")
    change_rows(folder, off.alias("condition"), keep=keep)
    conditions = [{"name": "off", "label": "SACK off"}, {"name": "on", "label": "SACK on"}]
    change(folder, factors=[], conditions=conditions, compare="condition")
    result = _sweep(folder)
    assert result.exit_code == 0, result.output
    assert "Goodput at the receiver is larger with SACK on than with SACK off: 1.2" in result.output
    assert _drawn(folder) == ["differences_0", "runs_0", "boxes_0", "distribution_0"]


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_the_answer_is_on_one_screen_and_marks_are_those_of_the_legend(
    page: Page, tmp_path: Path
) -> None:
    folder = write_sweep(tmp_path, seeds=1)
    change_rows(folder, keep=pl.col("delay") == "10ms")
    change(folder, factors=[factor("cc", EFFECTS)], compare="cc")
    page.open(make_sweep_report(folder).page, 1400)
    assert page.run("document.documentElement.scrollHeight") < 1600
    assert page.run("document.querySelectorAll('details:not([open])').length") >= 2
    svg = page.run("svgOf(board.plots.find(({ graph }) => graph.key === 'runs_0'))")
    drawing, legend = svg.split('<g transform="translate(', 1)
    assert "stroke-dasharray" not in drawing
    runs = "board.plots.find(({ graph }) => graph.key === 'runs_0').layers"
    colours = page.run(f"[...new Set({runs}.map(({{ colour }}) => colour))]")
    assert len(colours) == 3 and all(colour in legend for colour in colours)
    assert svg.count("<g ") == svg.count("</g>")


@pytest.mark.usefixtures("no_pictures")
def test_nothing_to_compare_still_gives_the_medians(tmp_path: Path) -> None:
    result = _sweep(write_sweep(tmp_path, compare=None))
    assert result.exit_code == 0
    assert "No comparison: " in result.output


@pytest.mark.usefixtures("no_pictures")
def test_where_kernels_are_swept_no_single_one_made_it(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, digests={"code": "ab12", "kernel": "cd34"})
    assert _sweep(folder).exit_code == 0
    assert all(text in (folder / "sweep.html").read_text() for text in ("Kernel 7.2.12", "cd34"))
    change_rows(folder, pl.col("cc").alias("kernel"))
    change(folder, factors=[factor("kernel", EFFECTS)], compare="kernel")
    change_rows(folder, keep=pl.col("delay") == "10ms")
    assert _sweep(folder).exit_code == 0
    page = (folder / "sweep.html").read_text()
    assert "ab12" in page and "Kernel 7.2.12" not in page and "cd34" not in page


@pytest.mark.usefixtures("no_pictures")
def test_large_rates_are_shown_in_mbit_everywhere(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, scale=100.0)
    output = _sweep(folder).output
    assert "Goodput at the receiver (Mbit/s)" in output
    sweep, samples, _ = _read(folder)
    assert samples.unit == "Mbit/s"
    assert samples.median[0, 0] == pytest.approx(100, rel=0.3)
    assert "Goodput at the receiver (kbit/s)" not in (folder / "sweep.html").read_text()
    assert sweep.metric.unit == "kbit/s"


def test_a_runs_value_is_the_mean_of_its_flows_and_needs_all_of_them(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, seeds=6, flows=3)
    starved = (pl.col("point") == "10ms-cubic-0") & (pl.col("flow") == "flow2")
    change_rows(folder, pl.when(~starved).then(pl.col("goodput_kbit_s")).alias("goodput_kbit_s"))
    _, samples, problems = _read(folder)
    rows = pl.read_csv(folder / "rows.csv").filter(pl.col("point") == "50ms-reno-5")
    assert samples.values[1, 1, 5] == pytest.approx(rows["goodput_kbit_s"].mean())
    assert np.isnan(samples.values[0, 0, 0])
    assert list(samples.counts.ravel()) == [5, 6, 6, 6, 6, 6]
    assert "1 of 36 runs have no value" in problems.found[0]


@pytest.mark.usefixtures("no_pictures")
def test_failed_points_are_listed_with_the_command_that_repeats_them(tmp_path: Path) -> None:
    failure = {
        "factors": {"delay": "10ms", "cc": "reno"},
        "seed": 4,
        "problem": "The guest ended.",
        "log": "failures/ab12.log",
        "repeat": "./tcplab run cubic_vs_reno --seed 4",
    }
    outside = failure | {"log": "../../secret", "seed": 5}
    folder = write_sweep(tmp_path, failures=[failure, outside], points={"wanted": 6, "failed": 2})
    result, page = _sweep(folder), (folder / "sweep.html").read_text()
    assert result.exit_code == 1
    assert "Check: 2 points failed" in result.output
    assert "delay 10ms, cc reno, seed 4:</strong> The guest ended." in page
    assert "<code>./tcplab run cubic_vs_reno --seed 4</code>" in page
    assert [link for link in PageTags(folder / "sweep.html").links if link != "data:,"] == [
        "failures/ab12.log"
    ]


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("changes", [{"status": "interrupted"}, {"points": {"unproved": 1}}])
def test_a_sweep_that_is_not_whole_is_marked(tmp_path: Path, changes: dict[str, Any]) -> None:
    result = _sweep(write_sweep(tmp_path, **changes))
    assert result.exit_code == 1
    assert "interrupted" in result.output or "was not proved" in result.output


@pytest.mark.usefixtures("no_pictures")
def test_hostile_text_stays_text(tmp_path: Path) -> None:
    both = {HOSTILE: HOSTILE}
    failure = {"factors": both, "problem": HOSTILE}
    texts = {"claim": HOSTILE, "warnings": [HOSTILE], "command": HOSTILE}
    texts |= {"parameters": both, "digests": both}
    folder = write_sweep(tmp_path, failures=[failure], **texts)
    factors = json.loads((folder / "sweep.json").read_text())["factors"]
    factors[1] |= {"meaning": HOSTILE, "values": ["cubic", HOSTILE]}
    change(folder, factors=factors)
    result = _sweep(folder)
    page = (folder / "sweep.html").read_text()
    assert "script" not in PageTags(folder / "sweep.html").names
    assert "\x1b" not in result.output + page + (folder / "comparisons.csv").read_text()
    assert "have a value that sweep.json does not list" in result.output


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("sweep.json", None, "has no sweep.json"),
        ("sweep.json", b'{"format": 1, "met', "no valid JSON"),
        ("sweep.json", b"[]", "holds no JSON object"),
        ("sweep.json", b'{"format": 2, "metric": "x"}', "git pull"),
        ("sweep.json", b'{"format": 1, "metric": "x"}', "the metric 'x'"),
        ("rows.csv", None, "rows.csv is missing"),
        ("rows.csv", b"delay,seed\n10ms\n", "rows.csv cannot be read"),
        ("rows.csv", b"\xff", "rows.csv cannot be read"),
        ("rows.csv", b"", "rows.csv cannot be read"),
    ],
)
def test_a_broken_folder_gives_one_clear_sentence(
    tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    folder = write_sweep(tmp_path, seeds=6)
    (folder / name).unlink() if content is None else (folder / name).write_bytes(content)
    result = _sweep(folder)
    assert result.exit_code in (1, 2)
    assert result.output.count(said) == 1, result.output
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("column", ["cc", "seed", "goodput_kbit_s"])
def test_a_missing_column_is_named(tmp_path: Path, column: str) -> None:
    folder = write_sweep(tmp_path, seeds=6)
    pl.read_csv(folder / "rows.csv").drop(column).write_csv(folder / "rows.csv")
    result = _sweep(folder)
    assert result.exit_code == 1
    assert f"no column {column}" in result.output
    assert (folder / "sweep.html").is_file()


def test_no_rows_and_nonsense_values_are_no_tracebacks(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, seeds=6)
    change_rows(folder, pl.lit(float("inf")).alias("goodput_kbit_s"))
    assert "36 of 36 runs have no value" in _sweep(folder).output
    change_rows(folder, keep=pl.lit(False))
    assert "There is no measurement, because no run is finished" in _sweep(folder).output


def test_no_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        make_sweep_report(tmp_path)
    assert _sweep(tmp_path / "absent").exit_code == 2
    many = [{"name": str(at), "values": list("abcdefghij")} for at in range(7)]
    change(write_sweep(tmp_path), factors=many)
    with pytest.raises(TcplabError, match="cells"):
        make_sweep_report(tmp_path / "sweep")


@pytest.mark.parametrize(
    "entry", [{"name": "seed"}, {"name": "cc"}, {"name": "x", "column": "goodput_kbit_s"}]
)
def test_a_factor_that_takes_anothers_column_is_refused(
    tmp_path: Path, entry: dict[str, str]
) -> None:
    folder = write_sweep(tmp_path, seeds=6)
    factors = json.loads((folder / "sweep.json").read_text())["factors"]
    change(folder, factors=[*factors, {"values": ["1", "2"], "column": ""} | entry])
    with pytest.raises(TcplabError, match="two columns"):
        make_sweep_report(folder)


@pytest.mark.usefixtures("no_pictures")
def test_the_page_can_go_elsewhere_or_says_where_it_cannot(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, seeds=6)
    assert _sweep(folder, "--out", tmp_path / "elsewhere").exit_code == 0
    assert (tmp_path / "elsewhere/sweep.html").is_file()
    (tmp_path / "file").write_text("")
    result = _sweep(folder, "--out", tmp_path / "file" / "folder")
    assert result.exit_code == 1
    assert "--out FOLDER" in result.output


@pytest.mark.usefixtures("no_pictures")
def test_long_lists_are_cut_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.pages.sweep.MOST_ROWS", 2)
    monkeypatch.setattr("analysis.pages.sweep.MOST_LINES", 1)
    folder = write_sweep(tmp_path)
    output, page = _sweep(folder).output, (folder / "sweep.html").read_text()
    assert "... and 5 more in comparisons.csv" in output
    assert "smaller with reno than with cubic" in output
    assert "the other 4 comparisons are in <code>comparisons.csv</code>" in page
    assert "the other 4 cells are in <code>rows.csv</code>" in page


PUBLISHED = {
    "where": "300 ms",
    "quantity": "rate",
    "unit": "Mbit/s",
    "published": 29.7,
    "why": "Because.",
    "command": "./tcplab run it",
    "today": [29.7, 29.8] * 3,
    "seeds": [1, 2, 3, 4, 5, 6],
}


@pytest.mark.usefixtures("no_pictures")
def test_published_numbers_stand_beside_the_sweeps_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [PUBLISHED, PUBLISHED | {"where": HOSTILE, "today": [90.0] * 6}]
    made = make_sweep_report(write_sweep(tmp_path, published={"note": "Short form.", "rows": rows}))
    page = made.page.read_text()
    print_sweep(made)
    told = capsys.readouterr().out
    for text in (page, told):
        assert "2 numbers were published: 1 agrees, 1 differs." in unfolded(text)
        assert "differs by a factor of 3.0" in unfolded(text)
    assert "Short form." in page and "Because." in page and "<script>alert" not in page


def unfolded(text: str) -> str:
    """Without the frame and the line ends of a table in the terminal, and without a page's own
    spelling.
    """
    return " ".join(
        text.replace("\N{BOX DRAWINGS LIGHT VERTICAL}", " ").replace("&#39;", "'").split()
    )


@pytest.mark.usefixtures("no_pictures")
def test_many_levels_are_rows_of_the_terminals_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    levels = {f"{number}ms": number / 1000 for number in range(1, 10)}
    names = [metric.name for metric in columns().values()]
    rows = [
        {"point": delay, "delay": delay, "delay_s": value}
        | {"condition": "only", "flow": "flow1", "seed": 1}
        | dict.fromkeys(names, 1000.0 * number)
        for number, (delay, value) in enumerate(levels.items(), 1)
    ]
    delays = factor("delay", levels, "delay_s", kind="duration", meaning="Delay.")
    folder = write_sweep(tmp_path, seeds=1, compare="delay", factors=[delays])
    pl.DataFrame(rows).write_csv(folder / "rows.csv")
    print_sweep(make_sweep_report(folder))
    told = [unfolded(line) for line in capsys.readouterr().out.splitlines()]
    assert any(line.split()[1::2] == ["delay", "median"] for line in told)
    assert "1ms 1,000" in told and "9ms 9,000" in told
