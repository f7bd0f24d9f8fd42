"""The whole report, from the shortened run and from runs that are damaged or hostile."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from analysis.__main__ import main
from analysis.measures import results as measured_results
from analysis.records.json_reader import Problems
from analysis.records.run_directory import read_run
from analysis.reporting import run_graphs
from experiments.reporting.studies import make_report, report_of, serve
from tests.analysis.browser import CHROMIUM, NO_CHROMIUM
from tests.analysis.made_runs import with_exchanges
from tests.analysis.page_tags import PageTags
from topologies.errors import TcplabError, UsageError

ROOT = Path(__file__).parents[2]
HOSTILE = "<script>alert(1)</script>'\"&[x](javascript:1)|`\x1b[31m"


def _report(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, arguments)], obj=report_of)


def _change(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def _repeat(run: Path, seeds: range) -> None:
    """The first repetition again under other seeds, with rates that differ a little."""
    for seed in seeds[1:]:
        shutil.copytree(run / "raw/seed-5", run / f"raw/seed-{seed}")
        server = run / f"raw/seed-{seed}/sack_on/flow1.server.txt"
        server.write_text(server.read_text().replace("354 Kbits", f"{350 + seed} Kbits"))
    _change(run / "manifest.json", seeds=list(seeds))


SCRIPTS = ("the graphs' data", "what draws them", "the stage")
SEQUENCES = ["time_sequence_sack_off", "time_sequence_sack_on"]
TIMED = [*SEQUENCES, "throughput", "round_trips", "windows"]
SERIES = ["series_rate_0", "series_delay_0", "series_window_0"]


def _drawn(run: Path) -> list[str]:
    """The graphs for which the page has a place, in its order."""
    return re.findall(r'<section class="graph" id="([^"]+)">', (run / "report.html").read_text())


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of the words alone: drawing takes most of a report's time."""
    monkeypatch.setattr("analysis.pages.run._groups", lambda _: [])
    monkeypatch.setattr("analysis.pages.run.claim_picture", lambda *_: None)


def test_a_sound_run_gives_page_answers_plots_and_graphs(run_directory: Path) -> None:
    result = _report(run_directory)
    assert result.exit_code == 0, result.output
    assert str(run_directory / "report.html") in result.output
    for name in ("answers.md", "claim.json"):
        assert (run_directory / name).stat().st_size > 100
    assert len(list((run_directory / "graphs").rglob("graphs.html"))) == 2
    assert not list(run_directory.rglob("*.partial"))


@pytest.mark.usefixtures("no_pictures")
def test_the_page_is_self_contained_and_says_what_was_found(run_directory: Path) -> None:
    make_report(run_directory)
    page = (run_directory / "report.html").read_text()
    tags = PageTags(run_directory / "report.html")
    assert all(link.startswith(("data:", "graphs/", "#", "stage.html")) for link in tags.links)
    assert "every condition proved" in page
    assert "./tcplab run sack --bw 1mbit --delay 40ms --loss 10%" in page
    assert str(run_directory) not in page


@pytest.mark.usefixtures("no_pictures")
def test_published_figures_stand_beside_ours(run_directory: Path) -> None:
    row = next(row for row in make_report(run_directory).table.rows if row.name == "iperf client")
    assert (row.published, row.ours) == (("231", "445"), ("268", "353"))
    assert row.differences == ("+16 %", "\N{MINUS SIGN}21 %")


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(
    ("name", "value", "applies"),
    [("loss", "5%", False), ("bw", "1000kbit", True), ("bw", "", False)],
)
def test_published_figures_are_left_out_where_the_path_differs(
    run_directory: Path, name: str, value: str, applies: bool
) -> None:
    spec = run_directory / "spec.json"
    _change(spec, parameters=json.loads(spec.read_text())["parameters"] | {name: value})
    table = make_report(run_directory).table
    assert table.compares is applies
    assert applies or f"{name} {value or 'unknown'}" in table.notes[0]


HEADLINE = {
    "question": "Does SACK help?",
    "metric": "server.rate",
    "what": "the throughput",
    "subject": {"condition": "sack_on", "flow": ""},
    "direction": "larger",
    "against": {"condition": "sack_off", "flow": ""},
    "repetitions": 7,
}


REPETITIONS = ("repetitions_throughput", "repetitions_time-outs")
EFFECT = ("claim_values", "claim_telling")  # the throughput, and the time-outs, which differ most


def _claim(run: Path, **changes: Any) -> None:
    _change(run / "spec.json", headline=HEADLINE | changes)


@pytest.mark.usefixtures("no_pictures")
def test_a_page_begins_with_the_question_and_the_verdict(run_directory: Path) -> None:
    _claim(run_directory)
    result = _report(run_directory)
    page = (run_directory / "report.html").read_text()
    assert page.index("<h1>Does SACK help?</h1>") < page.index("Not shown: one repetition cannot")
    verdict, effect, more = result.output.splitlines()[:3]
    throughput = "Throughput at the receiver: 269 kbit/s with SACK off, 354 kbit/s with SACK on."
    assert effect.startswith(throughput)
    assert verdict.startswith("Not shown: one repetition cannot show whether the throughput")
    assert effect in page and verdict in page and "--repeat 7" in more
    written = json.loads((run_directory / "claim.json").read_text())
    assert (written["word"], written["repetitions"]) == ("not shown", 1)


@pytest.mark.usefixtures("no_pictures")
@pytest.mark.parametrize(("direction", "word"), [("larger", "Shown"), ("smaller", "Contradicted")])
def test_seven_repetitions_decide(run_directory: Path, direction: str, word: str) -> None:
    _claim(run_directory, direction=direction)
    _repeat(run_directory, range(5, 12))
    result = _report(run_directory)
    beginning = f"{word}: the throughput is larger with SACK on than with SACK off: 1."
    assert result.output.startswith(beginning)
    assert json.loads((run_directory / "claim.json").read_text())["word"] == word.lower()


@pytest.mark.usefixtures("no_pictures")
def test_a_measure_that_is_not_declared_is_named(run_directory: Path) -> None:
    _claim(run_directory, metric="server.rat")
    assert "There is no measure 'server.rat'. Is server.rate" in _report(run_directory).output


@pytest.mark.usefixtures("no_pictures")
def test_without_a_claim_the_page_says_so(run_directory: Path) -> None:
    lines = _report(run_directory).output.splitlines()
    assert lines[0].startswith("No claim is declared")
    assert lines[1].startswith("Goodput at the receiver: ") and " with " in lines[1]
    assert "What happened in sack?" in (run_directory / "report.html").read_text()


def test_a_run_of_an_application_has_a_table_of_its_response_times(run_directory: Path) -> None:
    with_exchanges(run_directory)
    _report(run_directory)
    page = (run_directory / "report.html").read_text()
    _, found, table = page.partition("How long exchanges took")
    row = re.findall(r"<tr>.*?</tr>", table, re.DOTALL)[1]
    cells = re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row)
    assert found and cells[1:6] == ["4", "4", "3", "0", "250"]
    assert "distribution of response times" in page.lower()


def test_two_repetitions_give_no_verdict_and_a_third_picture(run_directory: Path) -> None:
    _claim(run_directory)
    _repeat(run_directory, range(5, 7))
    report = make_report(run_directory)
    assert _drawn(run_directory) == [*EFFECT, *TIMED, *REPETITIONS, *SERIES, "delays_0"]
    assert report.claim is not None and report.claim.word == "not shown"
    assert report.claim.sentence.startswith("two repetitions cannot show")
    assert not any("%" in fact.change for answer in report.answers for fact in answer.facts)


@pytest.mark.usefixtures("no_pictures")
def test_sack_that_was_slower_has_no_gain_to_explain(run_directory: Path) -> None:
    server = run_directory / "raw/seed-5/sack_on/flow1.server.txt"
    server.write_text(server.read_text().replace("354 Kbits", "200 Kbits"))
    assert "no gain to explain" in make_report(run_directory).answers[3].paragraphs[-1]


@pytest.mark.usefixtures("no_pictures")
def test_a_run_that_failed_is_marked_and_shows_nothing(run_directory: Path) -> None:
    _claim(run_directory)
    _repeat(run_directory, range(5, 12))
    _change(run_directory / "manifest.json", status="failed", failures=["a SYN offered SACK"])
    result = _report(run_directory)
    page = (run_directory / "report.html").read_text()
    assert result.exit_code == 1
    assert result.output.startswith("Not shown: this run is marked failed")
    assert "This run FAILED" in page and "a SYN offered SACK" in page
    assert "every condition was proved" not in page


@pytest.mark.usefixtures("no_pictures")
def test_a_condition_that_did_not_hold_is_marked(run_directory: Path) -> None:
    path = run_directory / "raw/seed-5/sack_off/evidence.json"
    path.write_text(path.read_text().replace("true", "false"))
    assert _report(run_directory).exit_code == 1
    assert "did not hold" in (run_directory / "report.html").read_text()


def test_a_cut_capture_is_told_and_the_rest_is_reported(run_directory: Path) -> None:
    path = run_directory / "raw/seed-5/sack_on/h1-eth0.pcap"
    path.write_bytes(path.read_bytes()[:-30])
    result = _report(run_directory)
    assert result.exit_code == 1
    assert "cut short: the last record is not whole, after 109 packets" in result.output
    assert "Changed since the run was written" in result.output
    assert _drawn(run_directory) == [*TIMED, "delays_0"]


def test_no_other_program_is_needed(
    run_directory: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = _report(run_directory)
    assert result.exit_code == 0, result.output
    assert set(_drawn(run_directory)) & set(TIMED)


def test_every_packet_is_on_pages_that_the_report_links(run_directory: Path) -> None:
    assert _report(run_directory).exit_code == 0
    links = PageTags(run_directory / "report.html").links
    pages = [link for link in links if not link.startswith(("data:", "stage.html"))]
    assert pages == [f"graphs/seed-5/{name}/graphs.html" for name in ("sack_off", "sack_on")]
    for page in pages:
        content = (run_directory / page).read_text()
        assert all(word in content for word in ("h1-eth0", "h2-eth0", "congestion window", "queue"))


OF_TRIAL = (
    *("counters.json", "evidence.json", "qdiscs.json", "h1.sockets.jsonl"),
    *("h1-eth0.pcap", "h2-eth0.pcap", "flow1.server.txt", "flow1.client.txt"),
)
FILES = ["manifest.json", "spec.json", "raw/seed-5/environment.json"]


@pytest.mark.parametrize("name", [*FILES, *(f"raw/seed-5/sack_on/{name}" for name in OF_TRIAL)])
@pytest.mark.parametrize("damage", ["missing", "empty", "cut"])
def test_any_damaged_file_is_named_and_the_rest_reported(
    run_directory: Path, name: str, damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "h1" not in name:  # no graph is made from this file
        monkeypatch.setattr("analysis.pages.run._groups", lambda _: [])
    monkeypatch.setattr("analysis.pages.run.claim_picture", lambda *_: None)
    path = run_directory / name
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] if damage == "cut" else b"")
    if damage == "missing":
        path.unlink()
    result = _report(run_directory)
    assert result.exit_code == 1
    assert Path(name).name in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert (run_directory / "report.html").is_file()


def test_hostile_text_stays_text(run_directory: Path) -> None:
    spec = json.loads((run_directory / "spec.json").read_text())
    spec["conditions"][0]["label"] = spec["topology"]["diagram"] = HOSTILE
    spec["parameters"]["bw"] = HOSTILE
    (run_directory / "spec.json").write_text(json.dumps(spec))
    texts = {"warnings": [HOSTILE], "claim": HOSTILE, "kernel": {"release": HOSTILE}}
    _change(run_directory / "manifest.json", **texts)
    result = _report(run_directory)
    page = (run_directory / "report.html").read_text()
    assert page.count("<script") == len(SCRIPTS)  # our own, and none of a stranger
    answers = (run_directory / "answers.md").read_text()
    assert "<script>" not in answers.split("To repeat this run")[0]
    assert "\x1b" not in result.output + answers + (run_directory / "report.html").read_text()


@pytest.mark.usefixtures("no_pictures")
def test_hostile_names_reach_no_file_outside(run_directory: Path) -> None:
    spec = json.loads((run_directory / "spec.json").read_text())
    spec["conditions"].append({"name": "../../../outside", "label": "x"})
    spec["captures"].append("../h1-eth0")
    (run_directory / "spec.json").write_text(json.dumps(spec))
    _change(run_directory / "manifest.json", files={"../../../../etc/hostname": "0" * 64})
    result = _report(run_directory)
    assert "cannot be a folder's name" in result.output
    assert "Changed since" not in result.output


def test_a_newer_format_is_refused(run_directory: Path) -> None:
    _change(run_directory / "manifest.json", format=2)
    with pytest.raises(TcplabError, match="git pull"):
        make_report(run_directory)


def test_no_run_directory_is_a_usage_error(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent"):
        with pytest.raises(UsageError):
            make_report(path)
    assert _report(tmp_path / "absent").exit_code == 2
    assert _report().exit_code == 2


@pytest.mark.usefixtures("no_pictures")
def test_the_report_can_go_elsewhere_or_says_where_it_cannot(
    run_directory: Path, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    result = _report(run_directory, "--out", tmp_path / "file" / "folder")
    assert result.exit_code == 1
    assert "--out FOLDER" in result.output and "Traceback" not in result.output
    assert _report(run_directory, "--out", tmp_path / "elsewhere").exit_code == 0
    assert (tmp_path / "elsewhere/report.html").is_file()
    assert not (run_directory / "report.html").exists()


def test_an_experiment_without_a_study_gets_table_and_graphs(run_directory: Path) -> None:
    _change(run_directory / "manifest.json", experiment="other")
    report = make_report(run_directory)
    assert report.answers[0].question == "How much arrived?"
    assert not report.table.compares
    assert set(_drawn(run_directory)) & set(TIMED)


@pytest.mark.usefixtures("no_pictures")
def test_a_server_judges_the_network_first_and_ends_with_its_run(run_directory: Path) -> None:
    def served(*lines: Path) -> int:
        read, write = os.pipe()
        text = "".join(f"{line}\n" for line in lines)
        done = CliRunner().invoke(serve, ["sack", str(write)], input=text)
        with os.fdopen(read, encoding="utf-8") as answers:
            if lines:
                assert json.loads(answers.readline())["verdict"] == "usable with care"
        return done.exit_code

    assert served(run_directory, run_directory) == 0
    assert served(run_directory) == 2


@pytest.mark.parametrize("command", ["report", "sweep"])
def test_as_a_program_it_ends_without_a_traceback(tmp_path: Path, command: str) -> None:
    words = [sys.executable, "-m", "analysis", command, str(tmp_path)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_a_browser_shows_the_page_without_a_complaint(run_directory: Path, tmp_path: Path) -> None:
    make_report(run_directory)
    picture = tmp_path / "page.png"
    command = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--no-first-run",
        "--enable-logging=stderr",
        f"--user-data-dir={tmp_path / 'profile'}",
        f"--screenshot={picture}",
        (run_directory / "report.html").as_uri(),
    ]
    environment = os.environ | {"HOME": str(tmp_path)}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=environment
    )
    assert picture.stat().st_size > 10_000, done.stderr
    assert "CONSOLE" not in done.stderr


@pytest.mark.usefixtures("no_pictures")
def test_a_sysctl_that_the_host_did_not_have_is_told(run_directory: Path) -> None:
    path = run_directory / "raw/seed-5/sack_on/evidence.json"
    sysctl = '"net.ipv4.tcp_sack": "{}"'
    path.write_text(path.read_text().replace(sysctl.format(1), sysctl.format(0)))
    assert "net.ipv4.tcp_sack 1 was asked for, the kernel had 0" in _report(run_directory).output


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.usefixtures("no_pictures")
def test_a_sysctl_that_old_kernels_lack_is_proved_instead(run_directory: Path, held: bool) -> None:
    for name in ("sack_off", "sack_on"):
        path = run_directory / f"raw/seed-5/{name}/evidence.json"
        evidence = json.loads(path.read_text())
        claims = {
            f"every host behaves as with net.ipv4.tcp_sack {values.pop('net.ipv4.tcp_sack')}"
            for values in evidence["sysctls"].values()
        }
        lacking = ["this kernel has no such setting"] if held else ["it has such a setting"]
        evidence["proofs"] += [
            {"claim": claim, "observed": lacking, "source": "/proc/sys", "held": held}
            for claim in claims
        ]
        path.write_text(json.dumps(evidence))
    said = "net.ipv4.tcp_sack 1 was asked for, the kernel had unknown"
    assert (said in _report(run_directory).output) is not held


@pytest.mark.usefixtures("no_pictures")
def test_a_warning_of_the_run_asks_to_check_but_is_no_failure(run_directory: Path) -> None:
    _change(run_directory / "manifest.json", warnings=["the queue was never full"])
    assert _report(run_directory).exit_code == 0
    page = (run_directory / "report.html").read_text()
    assert "Check this before you trust the result" in page
    assert "the queue was never full" in page


def test_large_captures_are_measured_one_trial_after_another(
    run_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = read_run(run_directory, Problems())
    largest = max(
        sum(file.stat().st_size for file in trial.folder.glob("*.pcap")) for trial in run.trials
    )
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    for room, at_once in ((largest - 1, 1), (largest, 1), (2 * largest, 2), (99 * largest, 2)):
        monkeypatch.setattr(measured_results, "_CAPTURED", room)
        assert measured_results._at_once(run) == at_once


def test_a_packet_page_draws_the_beginning_of_a_long_capture(
    run_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each packet takes memory while its page is made."""
    run = read_run(run_directory, Problems())
    (first, *_) = measured_results.measure_all(run, Problems()).first
    whole = run_graphs.page("T", first)
    monkeypatch.setattr(run_graphs, "MOST_PACKETS", 10)
    short = run_graphs.page("T", first)
    assert "first 10 packets" in short and "first 10 packets" not in whole
    assert len(short) < len(whole)
