"""Figures and tables of papers: their data, sizes, fonts and refusals."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import tcplab
from analysis.graphs.layers import WIDTHS, PaperSize
from analysis.measures.flow_readings import FlowCourse
from analysis.pages.papers import KINDS, PaperFigure, PaperTable
from analysis.records.output import SocketSample
from analysis.reporting.tables import Listing
from experiments.cli.commands import tcplab as command
from tests.analysis.made_runs import with_exchanges
from tests.analysis.sweep_folders import EFFECTS, write_sweep
from topologies.errors import UsageError

Cells = list[dict[str, str]]


def rows_of(text: str) -> Cells:
    return list(csv.DictReader(io.StringIO(text)))


def drawn(folder: Path, kind: str, **options: Any) -> PaperFigure:
    made = tcplab.figure(folder, kind, **options)
    assert isinstance(made, PaperFigure)
    return made


def typed(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, ["figure", *map(str, arguments)])


def repeat(run: Path, seeds: int) -> None:
    """Copy the repetition: each copy acknowledges another share of the bytes of the first."""
    for seed in range(6, 5 + seeds):
        copied = Path(shutil.copytree(run / "raw/seed-5", run / f"raw/seed-{seed}"))
        for file in copied.glob("*/*.sockets.jsonl"):
            share = 1 - 0.1 * (seed - 5)
            file.write_text(
                re.sub(
                    r'("bytes_acked": )(\d+)',
                    lambda found, s=share: f"{found[1]}{int(s * int(found[2]))}",
                    file.read_text(),
                )
            )
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["seeds"] = list(range(5, 5 + seeds))
    (run / "manifest.json").write_text(json.dumps(manifest))


def test_a_course_has_the_delay_above_the_least_round_trip() -> None:
    samples = [
        SocketSample(t, 10.0, None, trip, 1000.0 * t, 0, 0, 0, 3, 0.05)
        for t, trip in ((1.0, 0.0), (2.0, 0.05), (3.0, 0.09))
    ]
    course = FlowCourse.of(samples)
    assert list(course.times) == [2.0, 3.0]
    assert list(course.delays) == pytest.approx([0.0, 40.0])


def test_the_band_holds_all_seeds_and_the_line_is_their_median(run_directory: Path) -> None:
    repeat(run_directory, 3)
    data = rows_of(drawn(run_directory, "series", quantities=["rate"]).data)
    assert {row["y_axis"] for row in data} == {"rate (Mbit/s)"}
    bands = [row for row in data if row["mark"] == "band"]
    lines = [row for row in data if row["mark"] == "line"]
    assert len(bands) == len(lines) > 100
    sent = [row for row in zip(bands, lines, strict=True) if float(row[0]["y_end"]) > 0]
    for band, line in sent:
        low, middle, top = float(band["y"]), float(line["y"]), float(band["y_end"])
        assert (low, middle) == pytest.approx((0.8 * top, 0.9 * top), rel=0.01, abs=1e-4)


def test_delivered_bytes_are_the_area_below_the_rate(run_directory: Path) -> None:
    data = rows_of(drawn(run_directory, "series", quantities=["rate"]).data)
    lines = [row for row in data if row["mark"] == "line"]
    for name in {row["series"] for row in lines}:
        of_one = [row for row in lines if row["series"] == name]
        times = np.array([float(row["x"]) for row in of_one])
        rates = np.array([float(row["y"]) for row in of_one])
        folder = "sack_on" if name == "SACK on" else "sack_off"
        file = run_directory / f"raw/seed-5/{folder}/h1.sockets.jsonl"
        acked = [int(each) for each in re.findall(r'"bytes_acked": (\d+)', file.read_text())]
        area = rates.sum() * np.diff(times).mean() * 1e6 / 8
        assert area == pytest.approx(max(acked) - min(acked), abs=1500), "within a segment"


@pytest.mark.parametrize("paper", WIDTHS)
@pytest.mark.parametrize("columns", [1, 2])
def test_a_pdf_is_as_wide_as_its_columns_and_embeds_its_fonts(
    tmp_path: Path, paper: str, columns: int
) -> None:
    figure = drawn(write_sweep(tmp_path), "grid", paper=paper, columns=columns)
    pdf, data = figure.save(tmp_path / "fig.pdf")
    content = pdf.read_bytes()
    box = re.search(rb"/MediaBox \[ ?0 0 ([\d.]+)", content)
    assert box and float(box[1]) == pytest.approx(72 * WIDTHS[paper][columns - 1], abs=0.1)
    assert b"/FontFile2" in content or b"/CIDFontType2" in content
    assert b"/Type3" not in content
    assert data.read_text() == figure.data


@pytest.mark.parametrize("ending", ["pdf", "svg", "png", "pgf"])
def test_the_same_data_gives_the_same_bytes(tmp_path: Path, ending: str) -> None:
    folder = write_sweep(tmp_path, seeds=6)
    contents = [
        drawn(folder, "box").save(tmp_path / name / f"fig.{ending}")[0].read_bytes()
        for name in ("first", "second")
    ]
    assert contents[0] == contents[1]
    assert ending != "pgf" or b"\\pgftext" in contents[0]


def test_shares_of_a_sweep_add_up_to_100_percent(tmp_path: Path) -> None:
    data = rows_of(drawn(write_sweep(tmp_path, flows=3), "shares").data)
    for level in EFFECTS:
        of_level = [row for row in data if row["panel"] == "delay 10ms" and row["series"]]
        tops = [float(row["y_end"]) for row in of_level]
        assert max(tops) == pytest.approx(100), level
    assert {row["series"] for row in data} == {"flow0", "flow1", "flow2"}


def test_a_pgf_of_shares_has_no_curves_in_its_patterns(tmp_path: Path) -> None:
    """LaTeX takes minutes for thousands of circles: pdflatex never ended."""
    figure = drawn(write_sweep(tmp_path, flows=3), "shares")
    (pgf, _) = figure.save(tmp_path / "fig.pgf")
    patterns = re.findall(r"\\pgfsys@defobject\{currentpattern\}.*?\\end", pgf.read_text(), re.S)
    assert patterns
    assert not any("curveto" in pattern for pattern in patterns)


def test_the_box_has_the_quartiles_of_the_runs(tmp_path: Path) -> None:
    folder = write_sweep(tmp_path, seeds=9)
    rows = rows_of((folder / "rows.csv").read_text())
    chosen = [row for row in rows if row["delay"] == "10ms" and row["cc"] == "reno"]
    values = [float(row["goodput_kbit_s"]) for row in chosen]
    of_box = {"mark": "boxes", "series": "reno", "panel": "delay 10ms"}
    (box,) = (row for row in rows_of(drawn(folder, "box").data) if of_box.items() <= row.items())
    scale = 1e-3 if "(Mbit/s)" in box["y_axis"] else 1.0
    expected = np.quantile(values, (0.25, 0.75)) * scale
    assert (float(box["y"]), float(box["y_end"])) == pytest.approx(tuple(expected), rel=1e-4)


def test_the_distribution_of_response_times_has_all_exchanges_of_a_condition(
    run_directory: Path,
) -> None:
    with_exchanges(run_directory)
    data = rows_of(drawn(run_directory, "cdf", metric="exchange_p50_ms").data)
    steps = {
        name: [float(row["x"]) for row in data if (row["series"], row["mark"]) == (name, "stairs")]
        for name in ("SACK off", "SACK on")
    }
    assert {row["x_axis"] for row in data} == {"Time of an exchange or datagram (ms)"}
    assert sorted({round(x) for x in steps["SACK off"]}) == [100, 200, 300]
    assert sorted({round(x) for x in steps["SACK on"]}) == [200, 300, 400]


def test_a_box_takes_an_expression(run_directory: Path) -> None:
    repeat(run_directory, 3)
    with_exchanges(run_directory)
    data = rows_of(drawn(run_directory, "box", metric="exchange_p50_ms[flow1] * 2").data)
    dots = sorted({float(row["y"]) for row in data if row["mark"] == "dots"})
    assert dots == pytest.approx([500, 700])


def test_a_table_is_latex_and_csv(tmp_path: Path, run_directory: Path) -> None:
    made = tcplab.figure(run_directory, "table")
    assert isinstance(made, PaperTable)
    latex, data = made.save(tmp_path / "t.tex")
    text = latex.read_text()
    assert "\\toprule" in text and "SACK off & SACK on" in text
    assert not re.search(r"(?<!\\)%", text.split("\\toprule")[1])
    assert len(rows_of(data.read_text())) == text.count(r" \\") - 1
    assert "<td>" in made._repr_html_()


@pytest.mark.parametrize(("columns", "blocks"), [(1, 3), (2, 2)])
def test_a_wide_table_goes_on_in_blocks_that_say_what_each_row_is(
    columns: int, blocks: int
) -> None:
    head = ("loss", *(f"A quantity of many words, number {each} (%)" for each in range(9)))
    listing = Listing("T", head, (("1 %", *map(str, range(9))),))
    made = PaperTable(listing, PaperSize("ieee", columns))
    parts = made.latex.split("\\toprule")[1:]
    assert len(parts) == blocks
    assert all("\n1 \\% & " in part for part in parts)
    assert [made.latex.count(f"number {each}") for each in range(9)] == [1] * 9


@pytest.mark.parametrize(
    ("metric", "axis", "each"),
    [
        ("exchange_p95_ms[flow1]", "Time of an exchange or datagram (ms)", "exchanges"),
        ("exchange", "Time of an exchange or datagram (ms)", "exchanges"),
        ("goodput_kbit_s", "Goodput at the receiver (Mbit/s)", "flows"),
        ("rtt_p95_ms", "Smoothed round trip (ms)", "samples"),
        ("p95 rtt", "95th percentile of the smoothed round trip (ms)", "repetitions"),
        ("path.lost", "Packets lost at random towards the receiver (packets)", "repetitions"),
    ],
)
def test_a_distribution_is_that_of_its_metric(
    run_directory: Path, metric: str, axis: str, each: str
) -> None:
    """A cdf of fct drew queueing delays, without a word."""
    with_exchanges(run_directory)
    made = drawn(run_directory, "cdf", metric=metric)
    assert made.group.title.endswith(f" over {each}")
    data = rows_of(made.data)
    assert {row["x_axis"].replace("kbit", "Mbit") for row in data} == {axis}
    values = [float(row["x"]) for row in data if row["mark"] == "stairs"]
    assert values and (len(values) > 10) is (each == "samples")


def test_a_curve_of_what_did_not_end_ends_below_100_percent(run_directory: Path) -> None:
    with_exchanges(run_directory)
    made = drawn(run_directory, "cdf", metric="exchange")
    assert "did not end: curves end below 100 %" in made.group.caption
    assert max(float(row["y"]) for row in rows_of(made.data) if row["y"]) < 100


@pytest.mark.parametrize("swept", [False, True])
def test_no_kind_leaves_out_what_was_asked_for(
    run_directory: Path, tmp_path: Path, swept: bool
) -> None:
    folder = write_sweep(tmp_path, flows=3) if swept else run_directory
    drawing = ("cdf", "box", "grid", "table") if swept else ("cdf", "box")
    for kind in set(KINDS) - set(drawing):
        with pytest.raises(UsageError, match=f"Kind '{kind}' of a .* draws no metric"):
            tcplab.figure(folder, kind, metric="goodput")
    for kind in set(KINDS) - {"series", *([] if swept else ["grid"])}:
        with pytest.raises(UsageError, match=f"Kind '{kind}' of a .* draws no quantities"):
            tcplab.figure(folder, kind, quantities=["rate"])


@pytest.mark.parametrize(
    ("kind", "out", "sentence"),
    [
        ("series", "fig.gif", "'fig.gif' has no ending of a figure"),
        ("table", "fig.pdf", "'fig.pdf' has no ending of a table"),
        ("shares", "fig.pdf", "Each run has a single flow"),
        ("box", "fig.pdf", "too few seeds for boxes"),
    ],
)
def test_a_figure_that_cannot_be_is_one_sentence(
    tmp_path: Path, run_directory: Path, kind: str, out: str, sentence: str
) -> None:
    result = typed(run_directory, "--kind", kind, "--out", tmp_path / out)
    assert result.exit_code == 2
    assert sentence in result.output
    assert not (tmp_path / out).exists()


def with_series(folder: Path, seeds: int = 3) -> Path:
    """Give the sweep a series: rates rise with the seed, and runs of odd seeds end at half."""
    head = ["point", "delay", "cc", "seed", "condition", "flow", "quantity", "seconds"]
    lines = [",".join([*head, *map(str, range(1, 81))])]
    for delay in ("10ms", "50ms"):
        for seed in range(1, seeds + 1):
            seconds = "4" if seed % 2 else "8"
            cells = ["k", delay, "cubic", str(seed), "c", "flow0", "rate", seconds]
            lines.append(",".join([*cells, *[str(1000 * seed)] * 79, ""]))
    (folder / "series.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_the_series_of_a_sweep_has_a_panel_a_value_and_a_band_over_the_seeds(
    tmp_path: Path,
) -> None:
    folder = with_series(write_sweep(tmp_path))
    data = rows_of(drawn(folder, "series").data)
    assert {row["panel"] for row in data} == {
        f"Rate, delay {delay}, cc cubic" for delay in ("10ms", "50ms")
    }
    bands = [row for row in data if row["mark"] == "band" and "10ms" in row["panel"]]
    first = [(row["y"], row["y_end"]) for row in bands if float(row["x"]) < 3.9]
    assert first == [("1", "3")] * len(first) and len(first) == 39, "Mbit/s of 1 to 3 seeds"
    assert max(float(row["x"]) for row in bands) < 4, "afterwards most seeds have ended"


@pytest.mark.parametrize("content", ["", "point,delay\nk,10ms\n", "point\n\x00", None])
def test_a_sweep_of_before_or_with_a_broken_file_has_no_series(
    tmp_path: Path, content: str | None
) -> None:
    folder = write_sweep(tmp_path)
    if content is not None:
        (folder / "series.csv").write_text(content)
    with pytest.raises(UsageError, match="no samples over time"):
        tcplab.figure(folder, "series")


def test_the_command_names_its_files(tmp_path: Path, run_directory: Path) -> None:
    result = typed(run_directory, "--kind", "cdf", "--out", tmp_path / "fig.svg")
    assert result.exit_code == 0, result.output
    assert result.output.split() == [str(tmp_path / "fig.svg"), str(tmp_path / "fig.csv")]
    assert "queueing delay (ms)" in (tmp_path / "fig.csv").read_text()


def test_a_figure_asks_for_matplotlib_and_a_table_does_not(
    run_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("analysis.pages.papers.require", asked.append)
    for kind, file in (("table", "table.tex"), ("box", "few.pdf"), ("series", "fig.pdf")):
        assert not asked
        typed(run_directory, "--kind", kind, "--out", tmp_path / file)
    assert asked == ["figures"]
    assert (tmp_path / "table.tex").exists() and (tmp_path / "fig.pdf").exists()


WITHOUT = """
import sys
sys.modules["matplotlib"] = None
from analysis.__main__ import start
from experiments.reporting.studies import report_of
start(report_of)
"""


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("report {run}", "report.html"),
        ("analyze {run}/raw/seed-5/sack_on/h1-eth0.pcap --out {run}/found", "found/graphs.html"),
    ],
)
def test_pages_need_no_matplotlib(run_directory: Path, words: str, page: str) -> None:
    """A first start does not install it."""
    command = [sys.executable, "-c", WITHOUT, *words.format(run=run_directory).split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert (run_directory / page).exists()
