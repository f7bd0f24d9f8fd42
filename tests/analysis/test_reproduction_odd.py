"""Reproduction folders that are broken, hostile or odd."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.pages.reproduction import make_reproduction_report
from tests.analysis.made_reproductions import HOSTILE, row, run, study, table, write
from topologies.errors import UsageError

NAN = json.loads("NaN")


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    names = ("quantity", "unit", "series", "published_note", "why", "command")
    said = dict.fromkeys(names, HOSTILE)
    rows = [row(1.0, f"{HOSTILE}{at}", x=float(at), **said) for at in range(3)]
    texts = dict.fromkeys(("name", "claim", "source", "year"), HOSTILE)
    settings = [dict.fromkeys(("name", "value", "reason"), HOSTILE)]
    plot = {"kind": "loglog", "x": HOSTILE, "x_unit": HOSTILE, "series": HOSTILE}
    hostile = study(*rows, profile=settings, notes=[HOSTILE], plot=plot, **texts)
    digests = {HOSTILE: HOSTILE}
    result = run(write(tmp_path, hostile, mode=HOSTILE, digests=digests, started=HOSTILE))
    assert result.exit_code == 0, result.output
    page = (tmp_path / "reproduction.html").read_text()
    assert page.count("<script") == 2 and "alert(1)</script>" not in page
    assert "\x1b" not in result.output + page + (tmp_path / "reproduction.csv").read_text()


ODD = b'{"format": 1, "studies": [7, {"rows": 3, "profile": 3, "failures": "x", "plot": []}]}'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "has no reproduction.json"),
        (b'{"format": 1, "stu', "no valid JSON"),
        (b"[]", "holds no JSON object"),
        (b"{}", "reproduction.json is empty"),
        (b'{"format": 2}', "git pull"),
        (b'{"format": 1, "status": "complete"}', "lists no study"),
        (ODD, "has no row"),
    ],
)
def test_a_broken_file_gives_one_clear_sentence(
    tmp_path: Path, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "reproduction.json").write_bytes(content)
    result = run(tmp_path)
    assert result.exit_code in (1, 2)
    assert result.output.count(said) == 1, result.output
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("kind", ["loglog", "bars", "none", "?"])
@pytest.mark.parametrize("odd", [0.0, -1.0, 1e299, 1e-299, 5e-324])
def test_odd_numbers_are_drawn_without_a_traceback(tmp_path: Path, kind: str, odd: float) -> None:
    units = ("s", "Mbit/s") if odd < 1 else ("s", "s")
    rows = [
        row(odd, "a", x=odd, unit=units[0]),
        row(5.0, "b", x=0.5, period=3 * [odd, 5.0], unit=units[1]),
        row(odd, "c", mean_of=10, period=3 * [odd, 5.0], unit=units[1]),
    ]
    result = run(write(tmp_path, study(*rows, plot={"kind": kind})))
    assert result.exit_code == 0, result.output
    assert len(table(tmp_path)) == 3


def test_values_that_are_none_are_left_out_and_said(tmp_path: Path) -> None:
    rows = [
        row(5.0, "a", today=[None, 5.0]),
        row(5.0, "b", today=[NAN, "5", True, 5.0]),
        row(5.0, "c") | {"published": NAN},
        row(5.0, "d", today=7),
        row(5.0, "a"),
    ]
    result = run(write(tmp_path, study(*rows, None)))
    assert result.exit_code == 1
    assert [row["today_runs"] for row in table(tmp_path)] == ["1", "1", "6", "0", "6"]
    assert "Some values of 'a'" not in result.output  # null is a seed that gave none
    sentences = (
        "Some values of 'b'",
        "Some values of 'd'",
        "number of 'c'",
        "several rows for 'a'",
    )
    for said in (*sentences, "read in part"):
        assert result.output.count(said) == 1, said


def test_the_page_can_go_elsewhere_or_says_where_it_cannot(tmp_path: Path) -> None:
    write(tmp_path, study(row(1.0)))
    assert run(tmp_path, "--out", tmp_path / "elsewhere").exit_code == 0
    assert (tmp_path / "elsewhere/reproduction.html").is_file()
    assert not (tmp_path / "reproduction.html").exists()
    (tmp_path / "file").write_text("")
    result = run(tmp_path, "--out", tmp_path / "file" / "folder")
    assert result.exit_code == 1
    assert "--out FOLDER" in result.output


def test_no_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        make_reproduction_report(tmp_path / "absent")
    assert run(tmp_path / "absent").exit_code == 2
