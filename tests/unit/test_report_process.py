"""The analysis as a process: asked for the verdict on the network, then for the report."""

import sys
from contextlib import closing

from experiments.run import report as report_process
from experiments.run.report import Reporter

ANSWERING = """\
import os, sys
sys.stdin.readline()
os.write(int(sys.argv[1]), b'{"verdict": "good"}\\n')
sys.stdin.readline()
sys.exit(3)
"""


def test_the_verdict_comes_back_before_the_report_is_made(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(
        report_process, "_analysis", lambda *words: [sys.executable, "-c", ANSWERING, words[-1]]
    )
    with closing(Reporter("sack")) as report:
        assert report.judge(tmp_path) == {"verdict": "good"}
        assert report(tmp_path) == 3


def test_an_analysis_that_died_gives_no_verdict(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(report_process, "_analysis", lambda *_words: ["false"])
    with closing(Reporter("sack")) as report:
        assert report.judge(tmp_path) is None
        assert report(tmp_path) == 1
