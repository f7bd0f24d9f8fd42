"""The loss sweep's own parts, from recorded runs: statistics files, the summary table, the answers,
the graph.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from analysis.__main__ import main
from analysis.pages.sweep import SweepReport
from analysis.records.run_directory import run_of
from experiments.reporting.studies import make_sweep_report, report_of
from experiments.sack_loss_sweep.report import answers, published_lines
from experiments.sack_loss_sweep.statistics_file import file_name, statistics
from experiments.sweep.point import _statistics

DATA = Path(__file__).parent / "data" / "loss"
SPEC: dict[str, Any] = {
    "name": "sack_loss_sweep",
    "flows": [{"name": "flow1", "sender": "h1", "receiver": "h2"}],
    "conditions": [
        {"name": "sack_on", "sysctls": [["net.ipv4.tcp_sack", "1"], ["net.ipv4.tcp_dsack", "1"]]}
    ],
}


def statistics_in(raw: Path) -> str:
    run = run_of(raw, SPEC)
    return statistics(run, run.trials[0])


def text() -> str:
    return statistics_in(DATA)


def folder_of(out: Path, keep: pl.Expr | bool = True, **changes: Any) -> Path:
    """The recorded sweep as a folder, with those rows."""
    folder = out / "sweep"
    folder.mkdir()
    facts = json.loads((DATA / "sweep.json").read_text())
    (folder / "sweep.json").write_text(json.dumps(facts | changes))
    pl.read_csv(DATA / "rows.csv").filter(keep).write_csv(folder / "rows.csv")
    return folder


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> SweepReport:
    return make_sweep_report(folder_of(tmp_path_factory.mktemp("loss")))


def test_the_statistics_file_begins_and_ends_with_the_senders_segments() -> None:
    lines = text().splitlines()
    counted = [line.split() for line in lines if "segments" in line]
    (sent, again), (sent_after, again_after) = [(int(words[0]), int(words[4])) for words in counted]
    assert (sent_after - sent, again_after - again) == (825_632, 4231)
    assert (lines[0].split(), lines[1]) == (counted[0], "net.ipv4.tcp_sack = 1")


def test_the_statistics_file_has_the_disciplines_before_and_after_what_iperf_printed() -> None:
    lines = text().splitlines()
    netem = [at for at, line in enumerate(lines) if line.startswith("qdisc netem")]
    seconds = [at for at, line in enumerate(lines) if re.search(r"\d\.0000-\d+\.0000 sec", line)]
    assert len(seconds) == 10
    assert netem[0] < seconds[0] < seconds[-1] < netem[1]
    assert lines[netem[0]] == "qdisc netem 1: dev s1-eth2 limit 1000000 delay 99us loss 0.5%"
    assert "dropped 488," in lines[netem[0] + 1]
    assert "dropped 701," in lines[netem[1] + 1]
    assert lines[-3:] == [
        "TcpRetransSegs 20726 24957",
        "TcpExtTCPFastRetrans 1375 5606",
        "TcpExtTCPSackRecovery 0 202",
    ]


def test_what_is_missing_is_said_in_the_statistics_file(tmp_path: Path) -> None:
    (tmp_path / "sack_on").mkdir()
    shutil.copy(DATA / "sack_on" / "counters.json", tmp_path / "sack_on")
    content = statistics_in(tmp_path)
    assert "net.ipv4.tcp_sack = not read back" in content
    assert "flow1.client.txt is missing" in content
    assert "qdiscs.json is missing" in content


def test_only_a_study_that_says_so_keeps_statistics() -> None:
    assert list(_statistics("sack_loss_sweep", DATA, SPEC)) == ["sack_on"]
    assert _statistics("sack", DATA, SPEC) == {}


def test_a_worker_keeps_statistics_without_drawing_anything() -> None:
    code = "import sys; from experiments.study.catalogue import part; "
    code += (
        "part('sack_loss_sweep', 'statistics_file').file_name; print('matplotlib' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_statistics_files_name_is_legal_everywhere() -> None:
    assert file_name("sack_on", {"loss": "0.01%"}, 1) == "statistics/sack_on_loss_0.01%_seed-1.txt"
    assert (
        file_name("a", {"flows.*.window": "64 KiB", "x": 'a:b/c"'}, 2)
        == "statistics/a_flows.-.window_64-KiB_x_a-b-c-_seed-2.txt"
    )


def test_the_summary_has_the_published_columns_and_order(report: SweepReport) -> None:
    found = list(csv.reader((report.page.parent / "summary.csv").read_text().splitlines()))
    assert found[0] == ["SACK", "Loss-Rate", "retrans-%", "Min", "Average", "Max"]
    assert [row[0] for row in found[1:]] == ["0"] * 7 + ["1"] * 7
    assert [row[1] for row in found[1:8]] == ["0.000001", "0.009", "0.02", "0.05", "0.5", "1", "5"]
    recorded = pl.read_csv(DATA / "rows.csv").filter(loss="0.5%", condition="sack_on").to_dicts()[0]
    (row,) = (row for row in found if row[:2] == ["1", "0.5"])
    assert [float(cell) for cell in row[2:]] == pytest.approx(
        [
            recorded["resent_percent"],
            *(
                recorded[f"{which}_second_kbit_s"] / 1000
                for which in ("slowest", "mean", "fastest")
            ),
        ],
        rel=1e-5,
    )


def test_every_published_line_is_found_beside_ours(report: SweepReport) -> None:
    assert report.study is not None
    assert all(cell != "\N{EN DASH}" for row in report.study.summary.published for cell in row)
    assert report.study.summary.published[1] == ("0.0175471", "556", "908.62", "957")


def test_the_published_lines_give_the_published_answers() -> None:
    """The author's own: 5 % go at 0.034 % of retransmissions without SACK, at 0.51 % with; of a
    second at 0.0019 %.
    """
    average, slowest, most = answers((), published_lines())
    off, on = average.paragraphs
    assert (
        "Published: from a loss of 0.02 % on, where 0.0338 % of the segments are sent again: 881"
        " Mbit/s" in off
    )
    assert (
        "Published: from a loss of 0.5 % on, where 0.512 % of the segments are sent again: 883"
        " Mbit/s" in on
    )
    assert "from a loss of 0.001 % on, where 0.00195 %" in slowest.paragraphs[0]
    assert "at 4 %, where the rate with SACK is 4.72 times" in most.paragraphs[0]
    assert off.startswith("SACK off: not measured.")


def test_ours_are_computed_from_the_rows(report: SweepReport) -> None:
    assert report.study is not None
    off, on = report.study.answers[0].paragraphs
    assert off.startswith(
        "SACK off: from a loss of 0.05 % on, where 0.143 % of the segments are sent again: 871"
        " Mbit/s"
    )
    assert on.startswith("SACK on: from a loss of 1 % on")
    assert "0.009" not in off


def test_a_rate_that_never_falls_is_said_to(tmp_path: Path) -> None:
    made = make_sweep_report(folder_of(tmp_path, pl.col("loss_percent") < 0.01))
    assert made.study is not None
    assert made.study.answers[0].paragraphs[1].startswith("SACK on: not up to a loss of 0.009 %.")


def test_a_sweep_that_varies_more_is_no_study(tmp_path: Path) -> None:
    facts = json.loads((DATA / "sweep.json").read_text())
    delay = {
        "name": "delay",
        "meaning": "",
        "kind": "word",
        "values": ["1ms", "2ms"],
        "column": "delay",
        "unit": "",
    }
    assert make_sweep_report(folder_of(tmp_path, factors=[*facts["factors"], delay])).study is None


def test_terminal_and_page_show_table_graph_and_answers(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    done = CliRunner().invoke(main, ["sweep", str(folder)], obj=report_of)
    assert done.exit_code == 0, done.output
    assert re.search(r"SACK +Loss-Rate +retrans-% +Min +Average +Max", done.output)
    assert len(re.findall(r"^ [01] +[\d.]+ +[\d.]+", done.output, re.MULTILINE)) == 14
    page = (folder / "sweep.html").read_text()
    assert (
        "From which loss on is the average rate more than 5 % below that at the least loss?" in page
    )
    assert "What retransmissions cost, without and with SACK" in page
    for graph in ("loss_linear", "loss_logarithmic"):
        assert f'<section class="graph" id="{graph}">' in page
