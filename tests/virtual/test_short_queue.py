"""The experiment of the first hour for researchers, as a reader would save it."""

import re
import sys
import types
from pathlib import Path

import pytest

from tests.virtual.conftest import read
from topologies.units import Duration

pytestmark = pytest.mark.virtual
PAGE = Path(__file__).resolve().parents[2] / "docs/start/researcher.md"


def test_the_experiment_in_twenty_lines_runs(in_guest, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python[^\n]*\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (code,) = (block for block in blocks if "def experiment" in block)
    module = types.ModuleType("short_queue")
    monkeypatch.setitem(sys.modules, "short_queue", module)
    exec(compile(code, str(PAGE), "exec"), module.__dict__)
    spec = module.experiment(module.ShortQueueParameters(duration=Duration.parse("2s")))
    folder, _ = in_guest(spec)
    for condition in ("reno", "cubic", "bbr"):
        evidence = read(folder / condition / "evidence.json")
        assert evidence["held"]
        assert evidence["proofs"][0]["observed"] == [condition]
        assert evidence["sysctls"]["h1"]["net.ipv4.tcp_congestion_control"] == condition
