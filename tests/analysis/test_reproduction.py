"""Published numbers beside ours: verdicts with a known truth, the page, the table, and folders
broken or hostile.
"""

from __future__ import annotations

import csv
import json
import random
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from analysis.__main__ import main
from analysis.pages.published import reproduction_page
from analysis.pages.published.reproduction_page import make_reproduction_report
from analysis.statistics.verdict import (
    AGREES,
    DIFFERS,
    UNRUN,
    UNSTATED,
    WITHIN,
    Agreement,
    ValueSpan,
    best,
    judge,
    published_span,
    summarize,
)
from topologies.errors import UsageError

STUDIES = Path(__file__).resolve().parents[2] / "experiments"
HOSTILE = "<script>alert(1)</script>'\"&\x1b[31m"
FOUND = [2.0 + at / 20 for at in range(13)]
"""2.0 to 2.6; the interval of the median goes from the third to the eleventh, 2.1 to 2.5."""
NAN = json.loads("NaN")
Object = dict[str, Any]


def _row(published: float | None, where: str = "here", **changes: Any) -> Object:
    """A row whose runs with the settings of its time gave the published number, and today's twice
    as much.
    """
    ours = [published] * 3 if published is not None else [1.0]
    return {
        "where": where,
        "quantity": "rate",
        "unit": "Mbit/s",
        "published": published,
        "published_low": None,
        "published_high": None,
        "published_note": "",
        "period": ours,
        "today": [2 * one for one in ours],
        "seeds": [1, 2, 3],
        "command": "./tcplab run sack --seed 1",
        "why": None,
    } | changes


def _study(*rows: Object, **changes: Any) -> Object:
    profile = [
        {"name": "net.ipv4.tcp_recovery", "value": "0", "reason": "RACK came with Linux 4.4."}
    ]
    return {
        "name": "sack",
        "claim": "SACK helps.",
        "source": "Somebody 2017",
        "year": 2017,
        "profile": profile,
        "notes": ["Short form."],
        "rows": list(rows),
        "failures": [],
    } | changes


def _write(folder: Path, *studies: Object, **changes: Any) -> Path:
    facts = {
        "format": 1,
        "id": "first",
        "mode": "quick",
        "status": "complete",
        "tcplab": "0.1.0",
        "kernel": {"release": "7.2.12"},
        "wall_seconds": 1.0,
        "digests": {"code": "ab12"},
        "studies": list(studies),
    }
    (folder / "reproduction.json").write_text(json.dumps(facts | changes))
    return folder


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["reproduction", *map(str, arguments)])


def _table(folder: Path) -> list[dict[str, str]]:
    with (folder / "reproduction.csv").open(newline="") as file:
        return list(csv.DictReader(file))


class _Tags(HTMLParser):
    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of the words alone: drawing takes most of a page's time."""
    monkeypatch.setattr(reproduction_page, "picture", lambda *_: None)


@pytest.mark.parametrize(
    ("printed", "unit", "low", "high", "span"),
    [
        ("9.4", "packets", None, None, (9.35, 9.45)),
        ("9.40", "packets", None, None, (9.395, 9.405)),
        ("538", "packets", None, None, (537.5, 538.5)),
        ("9.3404e-05", "%", None, None, (9.34035e-05, 9.34045e-05)),
        ("1e16", "bytes", None, None, (1e16 - 0.5, 1e16 + 0.5)),
        ("100", "Mbit/s", None, None, (98, 102)),
        ("100", "kbit/s", None, None, (98, 102)),
        ("100", "ms", None, None, (98, 102)),
        ("100", "packets/s of something", None, None, (99.5, 100.5)),
        ("12.4", "s", 10.0, 12.5, (10.0, 12.648)),
        ("0", "Mbit/s", None, None, (-0.5, 0.5)),
    ],
)
def test_what_a_published_number_stands_for(
    printed: str, unit: str, low: float | None, high: float | None, span: tuple[float, float]
) -> None:
    found = published_span(printed, unit, low, high)
    assert (found.low, found.high) == pytest.approx(span)


@pytest.mark.parametrize(
    ("published", "values", "word"),
    [
        (2.3, FOUND, AGREES),
        (2.1, FOUND, AGREES),
        (2.0, FOUND, WITHIN),
        (2.63, FOUND, WITHIN),  # its 2 % reach 2.6
        (2.7, FOUND, DIFFERS),
        (2.05, FOUND[:3], AGREES),  # below six the median itself
        (1.97, FOUND[:3], WITHIN),
        (2.2, FOUND[:1], DIFFERS),
        (2.03, FOUND[:1], AGREES),
        (2.0, [], UNRUN),
        (None, FOUND, UNSTATED),
    ],
)
def test_verdicts_with_a_known_truth(
    published: float | None, values: list[float], word: str
) -> None:
    span = None if published is None else published_span(str(published), "Mbit/s")
    assert judge(published, span, summarize(values)).word == word


def test_the_spread_of_published_repetitions_widens_agreement() -> None:
    ours = summarize([1.0, 1.1, 1.2])
    assert judge(2.0, published_span("2.0", "s"), ours).word == DIFFERS
    assert judge(2.0, published_span("2.0", "s", 1.05, 3.0), ours).word == AGREES


def test_the_same_process_mostly_agrees_and_another_does_not() -> None:
    """A single published run of our own process is outside our range of ten in 2 of 11 cases, and
    no more.
    """
    chance, outside = random.Random(1), 0
    for _ in range(2000):
        ours = summarize([chance.lognormvariate(0, 0.5) for _ in range(10)])
        drawn = chance.lognormvariate(0, 0.5)
        outside += judge(drawn, ValueSpan(drawn, drawn), ours).word == DIFFERS
    assert outside / 2000 == pytest.approx(2 / 11, abs=0.03)
    assert judge(50.0, ValueSpan(50, 50), ours).word == DIFFERS


@pytest.mark.parametrize(
    ("published", "ours", "text"),
    [
        (1.0, 1.8, "differs by a factor of 1.8 (ours is higher)"),
        (1.8, 1.0, "differs by a factor of 1.8 (ours is lower)"),
        (1.0, 1.06, "differs by 6 % (ours is higher)"),
        (0.01, 12.34, "differs by a factor of 1,234 (ours is higher)"),
        (0.0, 12.0, "differs by 12 Mbit/s (ours is higher)"),
        (12.0, 0.0, "differs by 12 Mbit/s (ours is lower)"),
    ],
)
def test_how_far_apart_is_said_with_sensible_digits(
    published: float, ours: float, text: str
) -> None:
    assert (
        judge(published, ValueSpan(published, published), summarize([ours])).text("Mbit/s") == text
    )


def test_the_better_of_two_verdicts_counts() -> None:
    near, far = Agreement(DIFFERS, 1.2), Agreement(DIFFERS, 3.0)
    assert best((far, near)) == near
    assert best((Agreement(UNRUN), far)) == far
    assert best((far, Agreement(AGREES))).word == AGREES


def _numbers(name: str) -> list[dict[str, str]]:
    with (STUDIES / name / "published.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def _all_studies() -> list[Object]:
    """All published numbers, in the form in which the engine writes them."""
    sweep = [
        _row(
            float(one["avg_mbit_s"]),
            f"SACK {one['sack']}, loss {one['netem_loss_percent']} %",
            series=f"SACK {one['sack']}",
            x=float(one["netem_loss_percent"]),
        )
        for one in _numbers("sack_loss_sweep")
    ]
    assigned = [
        _row(float(one["reported_mbit_s"]), f"{at}: {one['condition']}")
        for at, one in enumerate(
            row
            for name in ("cubic_vs_reno", "udp_fairness", "reordering", "custom_cc")
            for row in _numbers(name)
        )
    ]
    wan = [
        _row(float(one["sender_mbit_s"]), f"{one['test_case']}, {one['run']}", period=[])
        for one in _numbers("wan_reordering")
    ]
    dropper = [
        _row(
            float(one["elapsed_avg_s"]),
            f"{one['drop_percent']} %",
            x=float(one["drop_percent"]),
            unit="s",
            published_low=10.0,
            published_high=2000.0,
        )
        for one in _numbers("packet_dropper")
    ]
    table = [
        _row(float(one["sack_on"]), one["quantity"], unit=one["unit"]) for one in _numbers("sack")
    ]
    swept = {"kind": "loglog", "x": "loss", "x_unit": "%", "series": "SACK"}
    return [
        _study(*sweep, name="sack_loss_sweep", plot=swept),
        _study(*assigned, name="assignment"),
        _study(*wan, name="wan_reordering"),
        _study(*dropper, name="packet_dropper", plot=swept),
        _study(*table, name="sack"),
    ]


def test_every_published_number_is_on_the_page_and_in_the_table(tmp_path: Path) -> None:
    studies = _all_studies()
    folder = _write(tmp_path, *studies)
    result = _run(folder)
    rows, tags, page = (
        _table(folder),
        _Tags(folder / "reproduction.html"),
        (folder / "reproduction.html").read_text(),
    )
    assert result.exit_code == 0, result.output
    listed = [(study["name"], row["where"]) for study in studies for row in study["rows"]]
    assert [(row["study"], row["where"]) for row in rows] == listed
    assert len(rows) == page.count('<tr class="row-') >= 142
    assert (
        f"Of {len(rows)} published numbers {sum(row['outcome'] == AGREES for row in rows)} agree"
        in page
    )
    assert all(link.startswith(("data:", "#study-")) for link in tags.links)
    assert page.count("data:image/png") == 5
    assert {path.name for path in (folder / "plots").iterdir()} == {
        f"study-{number}.png" for number in range(1, 6)
    }
    assert str(folder) not in page
    from matplotlib.image import imread

    for path in (folder / "plots").iterdir():
        assert len({tuple(pixel) for pixel in imread(path).reshape(-1, 4)[::97]}) > 3, path.name


@pytest.mark.usefixtures("no_pictures")
def test_both_verdicts_are_shown_and_the_summary_says_which(tmp_path: Path) -> None:
    rows = [
        _row(10.0, "a"),
        _row(10.0, "b", period=[30.0], why="RACK."),
        _row(10.0, "c", period=[], today=[]),
        _row(10.0, "d", period=[9.0, 12.0], today=[]),
        _row(None, "e"),
    ]
    result = _run(_write(tmp_path, _study(*rows)))
    page, table = (tmp_path / "reproduction.html").read_text(), _table(tmp_path)
    assert result.exit_code == 1  # one row was not run
    said = (
        "Of 5 published numbers 1 agrees with ours (1 under the settings of their time, 0 under"
        " today's), 1 more lies within the range of our runs, 1 differs, 1 was not run, and 1 is"
        " not stated in the source (quick mode)."
    )
    assert said in result.output
    assert [row["outcome"] for row in table] == [AGREES, DIFFERS, UNRUN, WITHIN, UNSTATED]
    assert [(row["period_verdict"], row["today_verdict"]) for row in table][:2] == [
        (AGREES, DIFFERS),
        (DIFFERS, DIFFERS),
    ]
    assert "differs by a factor of 3.0 (ours is higher)" in page
    assert "RACK." in page and "RACK came with Linux 4.4." in page


def test_differences_alone_are_no_failure_and_no_period_is_readable(tmp_path: Path) -> None:
    rows = [_row(10.0, str(at), period=[], today=[20.0, 21.0]) for at in range(3)]
    result = _run(_write(tmp_path, _study(*rows, profile=[])))
    page = (tmp_path / "reproduction.html").read_text()
    assert result.exit_code == 0, result.output
    assert "Nothing was run with the settings of its time" in page
    assert "<th>Ours, settings of its time</th>" not in page
    assert page.count("data:image/png") == 1


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize("count", [1, 2, 6, 30])
def test_an_interval_is_in_the_table_from_six_runs(tmp_path: Path, count: int) -> None:
    _run(_write(tmp_path, _study(_row(10.0, period=[9.0 + at / 10 for at in range(count)]))))
    (row,) = _table(tmp_path)
    assert row["period_runs"] == str(count)
    assert bool(row["period_interval_low"]) == (count >= 6)
    assert len(row["period_values"].split()) == count


@pytest.mark.usefixtures("no_pictures")
def test_what_is_not_whole_or_failed_is_marked(tmp_path: Path) -> None:
    failures = [
        {"where": "here, seed 3", "problem": "The guest ended.", "log": "failures/ab.log"},
        {"where": "there", "problem": HOSTILE, "log": "../../secret"},
    ]
    result = _run(_write(tmp_path, _study(_row(1.0), failures=failures), status="interrupted"))
    page = (tmp_path / "reproduction.html").read_text()
    assert result.exit_code == 1
    assert "marked interrupted" in result.output and "status: interrupted" in page
    assert "2 runs failed and give no value" in result.output
    assert [
        link
        for link in _Tags(tmp_path / "reproduction.html").links
        if link.startswith(("fail", "."))
    ] == ["failures/ab.log"]


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    rows = [
        _row(
            1.0,
            f"{HOSTILE}{at}",
            x=float(at),
            **dict.fromkeys(
                ("quantity", "unit", "series", "published_note", "why", "command"), HOSTILE
            ),
        )
        for at in range(3)
    ]
    texts = dict.fromkeys(("name", "claim", "source", "year"), HOSTILE)
    settings = [dict.fromkeys(("name", "value", "reason"), HOSTILE)]
    plot = {"kind": "loglog", "x": HOSTILE, "x_unit": HOSTILE, "series": HOSTILE}
    study = _study(*rows, profile=settings, notes=[HOSTILE], plot=plot, **texts)
    result = _run(
        _write(tmp_path, study, mode=HOSTILE, digests={HOSTILE: HOSTILE}, started=HOSTILE)
    )
    page = (tmp_path / "reproduction.html").read_text()
    assert result.exit_code == 0, result.output
    assert "script" not in _Tags(tmp_path / "reproduction.html").names
    assert "\x1b" not in result.output + page + (tmp_path / "reproduction.csv").read_text()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "has no reproduction.json"),
        (b'{"format": 1, "stu', "no valid JSON"),
        (b"[]", "holds no JSON object"),
        (b"{}", "reproduction.json is empty"),
        (b'{"format": 2}', "git pull"),
        (b'{"format": 1, "status": "complete"}', "lists no study"),
        (
            (
                b'{"format": 1, "studies": [7, {"rows": 3, "profile": 3, "failures": "x", "plot":'
                b" []}]}"
            ),
            "has no row",
        ),
    ],
)
def test_a_broken_file_gives_one_clear_sentence(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "reproduction.json").write_bytes(content)
    result = _run(tmp_path)
    assert result.exit_code in (1, 2)
    assert result.output.count(said) == 1, result.output
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("kind", ["loglog", "bars", "none", "?"])
@pytest.mark.parametrize("odd", [0.0, -1.0, 1e299, 1e-299, 5e-324])
def test_odd_numbers_are_drawn_without_a_traceback(tmp_path: Path, kind: str, odd: float) -> None:
    units = ("s", "Mbit/s") if odd < 1 else ("s", "s")
    rows = [
        _row(odd, "a", x=odd, unit=units[0]),
        _row(5.0, "b", x=0.5, period=[odd], unit=units[1]),
    ]
    result = _run(_write(tmp_path, _study(*rows, plot={"kind": kind})))
    assert result.exit_code == 0, result.output
    assert len(_table(tmp_path)) == 2


@pytest.mark.usefixtures("no_pictures")
def test_values_that_are_none_are_left_out_and_said(tmp_path: Path) -> None:
    rows = [
        _row(5.0, "a", today=[None, 5.0]),
        _row(5.0, "b", today=[NAN, "5", True, 5.0]),
        _row(5.0, "c") | {"published": NAN},
        _row(5.0, "d", today=7),
        _row(5.0, "a"),
    ]
    result = _run(_write(tmp_path, _study(*rows, None)))
    assert result.exit_code == 1
    assert [row["today_runs"] for row in _table(tmp_path)] == ["1", "1", "3", "0", "3"]
    assert "Some values of 'a'" not in result.output  # null is a seed that gave none
    for said in (
        "Some values of 'b'",
        "Some values of 'd'",
        "number of 'c'",
        "several rows for 'a'",
        "in part",
    ):
        assert result.output.count(said) == 1, said


@pytest.mark.usefixtures("no_pictures")
def test_the_page_can_go_elsewhere_or_says_where_it_cannot(tmp_path: Path) -> None:
    _write(tmp_path, _study(_row(1.0)))
    assert _run(tmp_path, "--out", tmp_path / "elsewhere").exit_code == 0
    assert (tmp_path / "elsewhere/reproduction.html").is_file()
    assert not (tmp_path / "reproduction.html").exists()
    (tmp_path / "file").write_text("")
    result = _run(tmp_path, "--out", tmp_path / "file" / "folder")
    assert result.exit_code == 1
    assert "--out FOLDER" in result.output


@pytest.mark.usefixtures("no_pictures")
def test_long_tables_are_cut_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduction_page, "MOST_ROWS", 2)
    _run(_write(tmp_path, _study(*(_row(1.0, str(at)) for at in range(5)))))
    assert (
        "the other 3 rows are in <code>reproduction.csv</code>"
        in (tmp_path / "reproduction.html").read_text()
    )
    assert len(_table(tmp_path)) == 5


def test_no_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        make_reproduction_report(tmp_path / "absent")
    assert _run(tmp_path / "absent").exit_code == 2
