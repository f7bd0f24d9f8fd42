"""Runs and points beside each other, the index of all runs, and both pages in a browser."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner

from analysis.pages.comparison import ComparedSide, compared, side_of_points, side_of_run
from analysis.reporting.run_graphs import DrawnCourse, over_time
from experiments.cli.commands import tcplab
from experiments.reporting.studies import make_report
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, Page

SAMPLE = Path(__file__).parent / "data" / "run"
HOSTILE = "<script>alert(1)</script>"
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Two runs of one experiment, of which the second asked for less loss."""
    out = tmp_path / "runs"
    for name in ("first", "second"):
        shutil.copytree(SAMPLE, out / "sack" / name)
    _ask_for(out, "5%")
    for name in ("first", "second"):
        make_report(out / "sack" / name)
    return out


def _ask_for(out: Path, loss: str) -> None:
    spec = out / "sack/second/spec.json"
    content = json.loads(spec.read_text())
    content["parameters"]["loss"] = loss
    spec.write_text(json.dumps(content))


def _call(store: Path, *words: object) -> str:
    done = CliRunner().invoke(tcplab, [*map(str, words), "--out", str(store)])
    assert done.exit_code == 0, done.output
    return done.stdout


def _side(letter: str, factor: float, seeds: int) -> ComparedSide:
    rows = [
        (seed, [{"condition": "on", "goodput_kbit_s": factor * (100 + seed), "timeouts": 0}])
        for seed in range(1, seeds + 1)
    ]
    return side_of_points(letter, letter * 12, {"experiment": "sack", "loss": f"{factor}%"}, rows)


def test_a_difference_that_is_there_is_found_and_none_elsewhere() -> None:
    comparison = compared([_side("A", 1, 12), _side("B", 2, 12)])
    goodput, timeouts = comparison.results
    assert goodput.against[0] is not None
    assert goodput.against[0].estimate == pytest.approx(2)
    assert goodput.differences[0].endswith("differs")
    assert not timeouts.differences[0].endswith("differs")
    assert comparison.differing == {"loss": ("1%", "2%")}
    assert comparison.sentence.startswith("Shown to differ: 1 of 2 quantities")


def test_few_seeds_show_nothing_and_seeds_that_differ_are_not_paired() -> None:
    few = compared([_side("A", 1, 5), _side("B", 2, 5)])
    assert few.sentence.startswith("Not shown: the sides share 5 seeds, and a difference takes 6.")
    other = side_of_points("B", "b", {}, [(99, [{"condition": "on", "goodput_kbit_s": 1.0}])])
    assert compared([_side("A", 1, 5), other]).results[0].against == (None,)


def test_a_run_beside_itself_differs_in_nothing(store: Path) -> None:
    comparison = compared([side_of_run(name, store / "sack/first") for name in "AB"])
    assert comparison.differing == {}
    assert all(len(set(result.cells)) == 1 for result in comparison.results)


def test_runs_are_compared_in_the_terminal_as_json_and_as_a_page(store: Path) -> None:
    told = _call(store, "compare", store / "sack/first", "sack/second")
    assert "loss" in told and "10%" in told and "5%" in told
    document = json.loads(_call(store, "compare", "sack/first", "sack/second", "--json"))
    assert document["differing"] == {"loss": ["10%", "5%"]}
    assert {each["condition"] for each in document["comparisons"]} == {"SACK off", "SACK on"}
    page = Path(document["page"]).read_text()
    for key in ("throughput", "round_trips", "windows"):
        assert f'<section class="graph" id="{key}">' in page


def test_graphs_name_each_seed_that_they_show(store: Path) -> None:
    side = side_of_run("A", store / "sack/first")
    assert side.results
    trials = side.results.first
    courses = [DrawnCourse.of(trial) for trial in trials]
    another = replace(trials[0], trial=replace(trials[0].trial, seed=9))
    for drawn, words in (
        (courses, "Seed 5, at the sender. "),
        ([*courses, DrawnCourse.of(another)], "Seeds 5 and 9, at the sender. "),
    ):
        captions = [group.caption or group.graphs[0].caption for group in over_time(drawn, None)]
        assert captions and all(caption.startswith(words) for caption in captions)


def test_a_folder_that_is_named_twice_is_compared_once(store: Path) -> None:
    (store / "sack/latest").symlink_to("second")
    named = (store / "sack/first", "sack/second", store / "sack/latest", "sack/latest")
    assert len(json.loads(_call(store, "compare", *named, "--json"))["sides"]) == 2


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["sack/first", "sack/first"], "compare needs 2 to 26 different runs; got 1"),
        (["sack/first"], "compare needs 2 to 26 different runs; got 1"),
        (["sack/first", "nothing"], "There is no run and no point 'nothing'"),
    ],
)
def test_what_cannot_be_compared_is_said(store: Path, words: list[str], problem: str) -> None:
    done = CliRunner().invoke(tcplab, ["compare", *words, "--out", str(store)])
    assert done.exit_code == 2 and problem in done.output


def test_the_list_breaks_no_identifier_and_a_broken_run_hides_no_other(store: Path) -> None:
    long = "20261122T140001Z-seed1-of-a-long-name"
    shutil.copytree(store / "sack/first", store / "sack" / long)
    (store / "sack/second/spec.json").write_text("{")
    terminal = {"COLUMNS": "80", "TERM": "dumb"}
    done = CliRunner().invoke(tcplab, ["runs", "list", "--out", str(store)], env=terminal)
    assert done.exit_code == 0, done.output
    assert f"sack/{long} " in done.output and "sack/second" in done.output
    assert "loss 10%" in " ".join(done.output.split())


def test_names_on_the_index_stay_text(store: Path) -> None:
    _ask_for(store, HOSTILE)
    page = Path(_call(store, "open", "--no-browser").strip()).read_text()
    assert HOSTILE not in page and page.count("<script>") == 1


def test_the_index_has_the_question_of_each_answer_and_a_comparison_of_kernels(store: Path) -> None:
    claim = {"question": "Is SACK faster?", "estimate": 1.3, "scale": "ratio"}
    (store / "sack/second/claim.json").write_text(json.dumps(claim))
    (folder := store / "kernels/first").mkdir(parents=True)
    (folder / "manifest.json").write_text('{"kind": "kernels"}')
    (folder / "kernels.html").touch()
    page = Path(_call(store, "open", "--no-browser").strip()).read_text()
    assert page.index("Is SACK faster?") < page.index("1.3 times")
    assert 'href="kernels/first/kernels.html"' in page


@needs_browser
def test_runs_are_searched_and_ticked_for_a_command(store: Path, chromium: Page) -> None:
    page = Path(_call(store, "open", "--no-browser").strip())
    chromium.complaints.clear()
    chromium.open(page, 390)
    assert chromium.run("document.scrollingElement.scrollWidth") <= 390
    chromium.run("for (const box of document.querySelectorAll('tbody input')) box.click()")
    command = chromium.run("document.getElementById('command').textContent")
    assert command.startswith("./tcplab compare ") and command.count("sack/") == 2
    chromium.run("search.value = 'SACK 5%'; search.dispatchEvent(new Event('input'))")
    assert chromium.run("rows.filter(row => !row.hidden).length") == 1
    assert chromium.complaints == []


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_fits_a_phone_draws_all_and_is_kept_as_files(
    store: Path, chromium: Page, scheme: str
) -> None:
    media = [{"name": "prefers-color-scheme", "value": scheme}]
    chromium.complaints.clear()
    chromium.call("Emulation.setEmulatedMedia", features=media)
    chromium.open(store / "sack/first/report.html", 390)
    assert chromium.run("document.scrollingElement.scrollWidth") <= 390
    counts = chromium.run("tcplabGraphs.counts()")
    assert set(counts) >= {"time_sequence_sack_on", "throughput", "round_trips", "windows"}
    assert all(sum(of.values()) for of in counts.values())
    assert chromium.run("theme() === DARK") == (scheme == "dark")
    svg = chromium.run("svgOf(board.plots[0])")
    assert svg.startswith("<svg") and "sequence number, from the SYN" in svg
    parsed = "new DOMParser().parseFromString(svgOf(board.plots[0]), 'image/svg+xml')"
    assert chromium.run(f"{parsed}.querySelector('parsererror') === null")
    assert chromium.run("pngOf(board.plots[0]).then(blob => blob.size)") > 5000
    every = "[...document.querySelectorAll('h1,h2,h3,h4')]"
    headings = chromium.run(f"{every}.map(one => Number(one.tagName[1]))")
    assert headings[0] == 1 and all(after <= before + 1 for before, after in pairwise(headings))
    assert chromium.complaints == []


@needs_browser
def test_a_zoom_is_in_the_address_and_keys_read_marks(store: Path, chromium: Page) -> None:
    chromium.open(store / "sack/first/report.html")
    chromium.run("board.zoom(1e8, 2e8)")
    address = chromium.run("window.location.hash")
    assert address.startswith("#zoom=")
    chromium.run("board.span.reset(); window.location.hash = '#zoom=100000000..200000000'")
    chromium.settle()
    assert chromium.run("board.range()") == pytest.approx([1e8, 2e8])
    chromium.run(
        "board.plots[0].canvas.dispatchEvent("
        "new KeyboardEvent('keydown', {key: 'ArrowRight', shiftKey: true, cancelable: true}))"
    )
    assert "at " in chromium.run("document.querySelector('.plot-tooltip').textContent")


@needs_browser
def test_paper_is_light_and_loses_no_column(store: Path, chromium: Page) -> None:
    media = [{"name": "prefers-color-scheme", "value": "dark"}]
    chromium.call("Emulation.setEmulatedMedia", media="print", features=media)
    chromium.open(store / "sack/first/report.html", 700)
    tables = "[...document.querySelectorAll('table')].map(one => one.getBoundingClientRect().right)"
    assert max(chromium.run(tables)) <= 701
    chromium.run("window.dispatchEvent(new Event('beforeprint'))")
    assert chromium.run("theme() === LIGHT && board.plots.some(plot => plot.width === PAPER_WIDTH)")
    chromium.run("window.dispatchEvent(new Event('afterprint'))")
    chromium.call("Emulation.setEmulatedMedia", media="", features=[])
