"""The page of a reproduction: its rows, its counts, and that its sentences hold for it."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from analysis.pages.reproduction import make_reproduction_report
from analysis.statistics.published import Word
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM, browser
from tests.analysis.made_reproductions import Object, row, run, study, table, write
from tests.analysis.page_tags import PageTags
from tests.analysis.stored_graphs import graphs_of

STUDIES = Path(__file__).resolve().parents[2] / "experiments"


def _numbers(name: str) -> list[dict[str, str]]:
    with (STUDIES / name / "published.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _all_studies() -> list[Object]:
    """Published numbers of every kind, in the form in which the engine writes them."""
    sweep = [
        row(
            float(line["avg_mbit_s"]),
            f"SACK {line['sack']}, loss {line['netem_loss_percent']} %",
            series=f"SACK {line['sack']}",
            x=float(line["netem_loss_percent"]),
            group="average rate",
        )
        for line in _numbers("sack_loss_sweep")
    ]
    assigned = [
        row(float(line["reported_mbit_s"]), f"{at}: {line['condition']}")
        for at, line in enumerate(
            line
            for name in ("cubic_vs_reno", "udp_fairness", "reordering", "custom_cc")
            for line in _numbers(name)
        )
    ]
    wan = [
        row(float(line["sender_mbit_s"]), f"{line['test_case']}, {line['run']}", period=[])
        for line in _numbers("wan_reordering")
    ]
    dropper = [
        row(
            float(line["elapsed_avg_s"]),
            f"{line['drop_percent']} %",
            x=float(line["drop_percent"]),
            unit="s",
            mean_of=10,
            published_low=10.0,
            published_high=2000.0,
        )
        for line in _numbers("packet_dropper")
    ]
    captured = [
        row(float(line["sack_off"]), line["quantity"], unit=line["unit"])
        for line in _numbers("sack")
        if line["sack_off"]
    ]
    swept = {"kind": "loglog", "x": "loss", "x_unit": "%", "series": "SACK"}
    return [
        study(*sweep, name="sack_loss_sweep", plot=swept),
        study(*assigned, name="assignment"),
        study(*wan, name="wan_reordering", profile=[]),
        study(*dropper, name="packet_dropper", plot=swept),
        study(*captured, name="sack", profile=[]),
    ]


def test_every_row_is_on_the_page_and_in_the_table(tmp_path: Path) -> None:
    studies = _all_studies()
    folder = write(tmp_path, *studies)
    result = run(folder)
    lines, page = table(folder), (folder / "reproduction.html").read_text()
    tags = PageTags(folder / "reproduction.html")
    assert result.exit_code == 0, result.output
    listed = [(each["name"], line["where"]) for each in studies for line in each["rows"]]
    assert [(line["study"], line["where"]) for line in lines] == listed
    assert len(lines) == page.count('<tr class="row-')
    agree = sum(line["outcome"] == Word.AGREES for line in lines)
    assert f"Of {len(lines)} published numbers {agree} agree" in page
    assert all(link.startswith(("data:", "#study-")) for link in tags.links)
    drawn = {graph["key"].split("_")[1] for graph in graphs_of(page)}
    assert drawn == {"1", "2", "3", "4", "5"} and "<img" not in page
    assert not (folder / "plots").exists()
    assert str(folder) not in page


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM, reason=NO_CHROMIUM)
@pytest.mark.parametrize("width", [390, 1400])
def test_its_graphs_are_drawn_and_name_the_rows(tmp_path: Path, width: int) -> None:
    write(tmp_path, *_all_studies())
    run(tmp_path)
    with browser(tmp_path / "chromium") as page:
        page.open(tmp_path / "reproduction.html", width=width)
        page.run("tcplabGraphs.board.drawAll()")
        drawn = page.run("tcplabGraphs.counts()")
        named = page.run("tcplabGraphs.board.plots.map(plot => plot.current.x)")
        wide = page.run("document.documentElement.scrollWidth")
        assert not page.complaints
    assert len(drawn) == 8 and all(sum(marks.values()) > 5 for marks in drawn.values())
    assert max(named) <= width / 2 and wide <= width  # longer names stand inside


def test_the_first_line_counts_this_page_by_its_headline_column(tmp_path: Path) -> None:
    rows = [
        row(10.0, "a"),
        row(10.0, "b", period=[30.0] * 6, today=[10.0] * 6, why="RACK."),
        row(10.0, "c", period=[], today=[10.0] * 6),
        row(10.0, "d", period=[9.0, 9.2, 9.3, 9.4, 9.5, 9.6], today=[]),
        row(10.0, "e", period=[10.0] * 3),
        row(10.0, "f", period=[], today=[], needs="300 s"),
        row(10.0, "g", listed="It is the rate times 60 s."),
        row(None, "h"),
    ]
    result = run(write(tmp_path, study(*rows)))
    page, lines = (tmp_path / "reproduction.html").read_text(), table(tmp_path)
    assert result.exit_code == 1  # one row was not run, one has too few runs
    first = (
        "Of 3 published settings 2 hold, 0 in part, and 1 differs."
        " Of 8 published numbers 1 agrees, 1 lies within the range of a further run, 1"
        " differs, 1 is not judged, 2 were not run (1 of them only in --full), 1 is not stated in"
        " the source, and 1 is listed only (quick mode)."
    )
    assert result.output.splitlines()[0] == first
    assert page.index(first) < page.index("<table>")
    words = [Word.AGREES, Word.DIFFERS, Word.UNRUN, Word.WITHIN, Word.FEW, Word.UNRUN]
    assert [line["outcome"] for line in lines] == [*words, Word.LISTED, Word.UNSTATED]
    assert [line["today_verdict"] for line in lines][1:3] == [Word.AGREES, Word.AGREES]
    assert "differs by a factor of 3.0 (measured is higher)" in page
    assert "a further one: 8.7" in page
    assert "Only in --full: 300 s." in page and "It is the rate times 60 s." in page
    assert "RACK." in page and "RACK came with Linux 4.4." in page
    assert "1 row was not run" in page and "1 row has fewer than 6 runs" in page


def test_settings_are_counted_once_whatever_their_numbers(tmp_path: Path) -> None:
    twice = [30.0] * 6
    rows = [
        *(row(10.0, f"a{at}", setting="a", line_rate=True) for at in range(10)),
        row(10.0, "b1", setting="b"),
        row(10.0, "b2", setting="b", period=twice),
        row(10.0, "c", setting="c", period=twice, line_rate=True),
        row(10.0, "d", setting="d", period=[], today=[], needs="300 s"),
        row(10.0, "e", setting="e"),
    ]
    folder = write(tmp_path, study(*rows))
    assert run(folder).output.startswith(
        "Of 4 published settings 2 hold (a full link makes 1 of them), 1 in part, and 1 differs."
    )
    counts = make_reproduction_report(folder).setting_counts
    others = {"in_part": 1, "differ": 1, "unjudged": 1}
    assert counts == {"settings": 5, "hold": 2, "line_rate": 1} | others
    page = (tmp_path / "reproduction.html").read_text()
    assert page.count("Any TCP fills this link.") == 10
    tried, _, _ = page.partition("No mechanism was tried.")
    assert tried.endswith('<td class="left">b2: rate; c: rate</td><td class="left reason">')


def test_the_first_line_names_no_row_that_is_not_there(tmp_path: Path) -> None:
    rows = [row(10.0, "a"), row(10.0, "b", period=[], today=[], needs="300 s")]
    result = run(write(tmp_path, study(*rows)))
    assert result.output.splitlines()[0] == (
        "Of 1 published setting 1 holds, 0 in part, and 0 differ."
        " Of 2 published numbers 1 agrees, 0 lie within the range of a further run, 0"
        " differ, and 1 was not run (only in --full) (quick mode)."
    )


def test_without_a_profile_there_is_one_column_and_no_word_of_two(tmp_path: Path) -> None:
    rows = [row(10.0, str(at), period=[], today=[20.0, 21.0] * 3) for at in range(3)]
    result = run(write(tmp_path, study(*rows, profile=[])))
    page = (tmp_path / "reproduction.html").read_text()
    assert result.exit_code == 0, result.output
    assert "Of 1" not in page and "0 agree" in page
    page = page.partition("<script")[0]
    for absent in ("two ways", "its time", "ettings of the study", "By today"):
        assert absent not in page, absent


def test_the_headline_of_a_study_with_a_profile_is_never_todays(tmp_path: Path) -> None:
    """Also if nothing was run with the settings of its time."""
    run(write(tmp_path, study(row(10.0, period=[], today=[10.0] * 6))))
    page = (tmp_path / "reproduction.html").read_text()
    assert "0 agree" in page
    assert "No run has the settings of its time: the values are of today" in page


@pytest.mark.parametrize(
    ("rows", "changes", "sentence", "command"),
    [
        ([row(1.0)], {}, "Every row of this page that a run can give was run.", "--quick"),
        ([row(1.0)], {"only": ["a"], "mode": "full"}, "was run. Selected: a.", "--full --only a"),
        (
            [row(1.0), row(2.0, "x", period=[], today=[], needs="an hour")],
            {},
            "Every row of the short form was run; 1 more are in --full.",
            "--quick",
        ),
        (
            [row(1.0, period=[], today=[])],
            {"only": ["a"]},
            "Not everything could be run or read. Selected: a.",
            "--quick --only a",
        ),
        ([row(1.0)], {"status": "interrupted"}, "not complete (status: interrupted)", "--quick"),
    ],
)
def test_what_the_page_says_of_itself_holds_for_it(
    tmp_path: Path, rows: list[Object], changes: Object, sentence: str, command: str
) -> None:
    run(write(tmp_path, study(*rows), **changes))
    page = (tmp_path / "reproduction.html").read_text()
    assert sentence in page
    assert f">./tcplab reproduce {command}</pre>" in page
    assert "Every published number was run" not in page


@pytest.mark.parametrize(("each", "is_open"), [(3, True), (30, False)])
def test_groups_have_their_counts_and_many_rows_are_folded(
    tmp_path: Path, each: int, is_open: bool
) -> None:
    groups = [(group, at) for group in ("rates", "flows") for at in range(each)]
    rows = [row(1.0, f"{group}{at}", group=group) for group, at in groups]
    run(write(tmp_path, study(*rows)))
    page = (tmp_path / "reproduction.html").read_text()
    assert page.count("<details open>" if is_open else "<details>") == 2
    assert f"<strong>flows</strong>, {each} numbers: {each} agree</summary>" in page
    assert "details::details-content" in page  # a printed page has what is folded


def test_a_command_that_runs_a_whole_group_stands_once(tmp_path: Path) -> None:
    same = [row(1.0, str(at), group="rates", command="./tcplab run sack_on") for at in range(3)]
    other = [row(1.0, f"{at}", group="times", command=f"./tcplab run {at}") for at in range(3, 5)]
    run(write(tmp_path, study(*same, *other)))
    page = (tmp_path / "reproduction.html").read_text()
    assert page.count("<code>./tcplab run sack_on</code>") == page.count("run sack_on") == 1
    assert "<span>3</span>" in page and "<span>4</span>" in page


@pytest.mark.parametrize("runs", [1, 2, 6, 30])
def test_intervals_are_in_the_table_from_six_runs(tmp_path: Path, runs: int) -> None:
    run(write(tmp_path, study(row(10.0, period=[9.0 + at / 10 for at in range(runs)]))))
    (line,) = table(tmp_path)
    assert line["period_runs"] == str(runs)
    for name in ("interval_low", "interval_high", "further_low", "further_high"):
        assert bool(line[f"period_{name}"]) == (runs >= 6)
    assert len(line["period_values"].split()) == runs


def test_what_is_not_whole_or_failed_is_marked(tmp_path: Path) -> None:
    failures = [
        {"where": "here, seed 3", "problem": "The guest ended.", "log": "failures/ab.log"},
        {"where": "there", "problem": "Lost.", "log": "../../secret"},
    ]
    result = run(write(tmp_path, study(row(1.0), failures=failures), status="interrupted"))
    page = (tmp_path / "reproduction.html").read_text()
    assert result.exit_code == 1
    assert "marked interrupted" in result.output and "status: interrupted" in page
    assert "2 runs failed, without a value." in result.output
    links = PageTags(tmp_path / "reproduction.html").links
    assert [link for link in links if link.startswith(("fail", "."))] == ["failures/ab.log"]


def test_long_tables_are_cut_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("analysis.pages.reproduction.MOST_ROWS", 2)
    run(write(tmp_path, study(*(row(1.0, str(at)) for at in range(5)))))
    page = (tmp_path / "reproduction.html").read_text()
    assert "the other 3 rows are in <code>reproduction.csv</code>" in page
    assert len(table(tmp_path)) == 5
