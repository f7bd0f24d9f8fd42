"""Templates that are compiled while a run goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment

from analysis import rendering
from experiments.reporting.studies import make_report, report_of


def test_what_is_loaded_ahead_is_all_that_a_report_needs(
    run_directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report_of("sack")
    rendering.load()

    def compile_late(_environment: Environment, _source: str, name: str, *_: Any, **__: Any) -> Any:
        raise AssertionError(f"{name} is compiled when the run is over")

    monkeypatch.setattr(Environment, "compile", compile_late)
    assert make_report(run_directory).page.is_file()
