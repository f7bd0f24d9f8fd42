"""The page of two kernels, of comparisons whose truth is known, and what counts as a difference."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import pytest

from analysis.measures.metrics import metric
from analysis.pages.kernels import make_kernel_report, print_kernels
from experiments.sweep.kernels import (
    KernelCase,
    KernelComparison,
    KernelMeasure,
    KernelPair,
    chosen_cases,
    runnable,
    standing_set,
    value_in,
)
from experiments.sweep.point import Origin
from experiments.sweep.run import PointRunner, Watch, carry_out
from tests.analysis.stored_graphs import graphs_of
from tests.unit.made_sweeps import LAB, Engine
from topologies.errors import UsageError

SEEDS = range(1, 13)
FACTS = [{"name": name, "release": f"{name}.0", "digest": name * 8} for name in ("6.1", "7.2")]


def record(goodput: float, status: str = "complete") -> dict[str, Any]:
    """A run of the case `marking` in which everything measured is proportional to `goodput`."""
    row = {"condition": "ecn", "flow": "ecn", "goodput_kbit_s": goodput, "rtt_median_ms": 41.0}
    rows = [row | {"retransmitted_percent": 0}]
    return {"status": status, "problem": "broken\nin two", "rows": rows}


def compared(factor: float, noise: float = 0.02) -> KernelComparison:
    """A comparison in which the second kernel's goodput is `factor` times the first's."""
    comparison = KernelComparison(
        KernelPair("6.1", "7.2"), chosen_cases(("marking",)), SEEDS, facts=FACTS
    )
    chance = random.Random(7)
    for seed in SEEDS:
        luck = chance.uniform(0.5, 2)
        for kernel, times in (("6.1", 1.0), ("7.2", factor)):
            goodput = 19000 * luck * times * chance.uniform(1 - noise, 1 + noise)
            comparison.records[(kernel, "marking", "ecn"), seed] = record(goodput)
    return comparison


def verdicts(comparison: KernelComparison) -> list[str]:
    return [figure.verdict for figure in comparison.figures()]


def test_a_difference_is_found_whatever_the_luck_of_a_seed() -> None:
    assert verdicts(compared(1.2)) == ["larger", "alike", "alike"]
    assert verdicts(compared(0.8)) == ["smaller", "alike", "alike"]


def test_too_small_a_difference_does_not_count() -> None:
    assert verdicts(compared(1.004, 0.0))[0] == "alike"
    assert verdicts(compared(1.0, 0.2))[0] == "not shown to differ"


def test_no_difference_is_shown_by_few_seeds() -> None:
    comparison = compared(1.5)
    comparison.seeds = range(1, 5)
    assert verdicts(comparison)[0] == "not shown to differ"


def test_a_figure_may_be_the_largest_of_all_flows() -> None:
    every = (("cubic", "a", 1), ("cubic", "b", 3), ("reno", "a", 9), ("cubic", "a", None))
    rows = [{"condition": cc, "flow": name, "seconds": at} for cc, name, at in every]
    seconds = KernelMeasure("", "cubic", metric("metric.seconds"))
    for measure, value in (
        (seconds, 2),
        (replace(seconds, pick="largest"), 3),
        (replace(seconds, flow="b"), 3),
    ):
        assert value_in({"rows": rows}, measure) == value
    assert isnan(value_in({"rows": []}, seconds))


def write(folder: Path, comparison: KernelComparison, **changed: Any) -> Path:
    content = {"id": "now", "status": "complete", **comparison.described(), **changed}
    (folder / "comparison.json").write_text(json.dumps(content))
    return folder


def test_the_page_says_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = make_kernel_report(write(tmp_path, compared(1.2)))
    assert report.sound
    sentence = (
        "Of 3 figures, Linux 7.2 has 1 larger and 0 smaller compared with Linux 6.1; 2 are alike"
        " within 1 %."
    )
    page = report.page.read_text()
    assert sentence in page
    assert 'class="verdict larger">larger' in page
    assert "SHA-256 <code>7.27.2" in page
    graph = graphs_of(page)[0]
    words = {layer["words"]: layer["marks"] for layer in graph["layers"]}
    names = ("larger on 7.2", "alike, or not shown to differ", "no difference")
    assert words == dict.fromkeys(names, 1)
    assert len(graph["y"]["ticks"]) == 2 and not (tmp_path / "plots").exists()
    print_kernels(report)
    printed = capsys.readouterr().out
    assert sentence in printed
    assert "Goodput at the" in printed


def test_a_run_that_failed_is_named_and_makes_the_page_unsound(tmp_path: Path) -> None:
    comparison = compared(1.2)
    comparison.records[("7.2", "marking", "ecn"), 3] = record(0, "unproved") | {"rows": []}
    report = make_kernel_report(write(tmp_path, comparison))
    assert not report.sound
    assert "marking, ecn, on 7.2, seed 3: broken" in report.page.read_text()


def test_each_condition_has_a_guest_of_its_own_and_pairs_are_asked_for_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So what a patch of CUBIC does comes before no run of Reno."""
    monkeypatch.setattr("experiments.sweep.point.built_lab", lambda kernel: LAB)
    comparison = KernelComparison(KernelPair("6.1", "7.2"), chosen_cases(("buffers",)), (1, 2))
    asked = comparison.points(Origin("lab", "code", "measures", "fingerprint"))
    assert [tuple(dict(point.combination.values).values()) for point in asked[:4]] == [
        ("buffers", name, kernel) for name in ("cubic", "reno") for kernel in ("6.1", "7.2")
    ]
    assert [point.seed for point in asked] == 6 * [1] + 6 * [2]
    assert all(len(point.combination.spec.conditions) == 1 for point in asked)


def test_a_comparison_is_carried_out_like_a_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each kernel is asked for under each seed; a failed run is named and run again."""
    monkeypatch.setattr("experiments.sweep.point.built_lab", lambda kernel: LAB)

    def made(data: Any, seed: int) -> dict[str, Any]:
        if (data["kernel"], seed) == ("7.2", 2):
            raise ArithmeticError("broken")
        return record(1000.0 + seed) | {"warnings": [], "usage": {"clock_seconds": 2.0}}

    engine = Engine(made)
    for _ in range(2):
        asked = KernelComparison(
            KernelPair("6.1", "7.2"), chosen_cases(("marking",)), (1, 2), facts=FACTS
        )
        folder = carry_out(asked, tmp_path, PointRunner(LAB, engine, "two"), Watch())
    assert engine.ran.count(2) == 3 and engine.ran.count(1) == 2
    content = json.loads((folder / "comparison.json").read_text())
    manifest = json.loads((folder / "manifest.json").read_text())
    assert folder.parent.name == "kernels"
    assert (manifest["kind"], manifest["experiment"]) == ("kernels", "compare")
    assert content["virtual_seconds"] == manifest["virtual_seconds"] == 6.0
    assert content["failures"] == ["marking, ecn, on 7.2, seed 2: ArithmeticError: broken"]
    assert content["cases"][0]["figures"][0] | {"p": 1.0} == {
        "of": "ECN",
        "metric": "goodput_kbit_s",
        "title": "Goodput at the receiver",
        "unit": "kbit/s",
        "old": [1001.0, 1002.0],
        "new": [1001.0, None],
        "scale": "ratio",
        "count": 1,
        "estimate": 1.0,
        "low": None,
        "high": None,
        "p": 1.0,
        "verdict": "not shown to differ",
    }
    assert not make_kernel_report(folder).sound


def test_a_strangers_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"comparison\.json"):
        make_kernel_report(tmp_path)
    page = make_kernel_report(write(tmp_path, compared(1.0), id="<script>", cases=[])).page
    assert "<script>" not in page.read_text()


def test_every_case_can_run_and_measures_what_it_has() -> None:
    for case in standing_set():
        conditions = {condition.name for condition in case.spec.conditions}
        flows = {"", *(flow.name for flow in case.spec.flows)}
        assert {measure.condition for measure in case.measures} == conditions
        assert {measure.flow for measure in case.measures} <= flows
    with pytest.raises(UsageError, match="There is no case 'nothing'"):
        chosen_cases(("nothing",))


def test_what_a_kernel_lacks_is_left_out_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    (buffers,) = chosen_cases(("buffers",))

    def refuse(spec: Any) -> None:
        if spec.kernel == "6.1" and spec.conditions[0].name == "bbr":
            raise UsageError("6.1 has no bbr.")

    monkeypatch.setattr("experiments.sweep.kernels.refuse_what_is_lacking", refuse)
    kept, reasons = runnable((buffers,), KernelPair("6.1", "7.2"))
    assert reasons == ["bbr is left out: 6.1 has no bbr."]
    assert names(kept[0]) == {"cubic", "reno"}
    assert {measure.condition for measure in kept[0].measures} == {"cubic", "reno"}


def names(case: KernelCase) -> set[str]:
    return {condition.name for condition in case.spec.conditions}


def test_a_script_is_named_once_and_the_terminal_names_few(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ways = ("ipv4", "ipv4-mapped-ipv6", "ipv6")
    cases = [f"script{number:02}.pkt {way}" for number in range(12) for way in ways]
    scripts = {"cases": 474, "only_new": [*cases, "half.pkt ipv4", "half.pkt ipv6"]}
    report = make_kernel_report(write(tmp_path, compared(1.0), scripts=scripts))
    both, new = report.scripts()
    assert both == "Of 474 packetdrill scripts 436 pass on both kernels."
    names = ", ".join(f"script{number:02}.pkt" for number in range(12))
    assert new == f"38 pass on 7.2 only: {names}, half.pkt ipv4 ipv6."
    assert names in report.page.read_text()
    print_kernels(report)
    printed = capsys.readouterr().out
    assert "script09.pkt, and 3 more scripts: see the page." in printed
    assert "script10" not in printed
