"""A reproduction carried out with made-up runs: its rows, what goes on, what failed."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiments.study import points as period_kernel
from experiments.study.catalogue import find
from experiments.study.grid import combinations as grid_of
from experiments.study.points import PeriodKernelChoice, combinations, period_kernels
from experiments.study.published import (
    Target,
    chosen,
    facts_beside,
    published_study,
    seeds_of,
    targets,
)
from experiments.sweep import point
from experiments.sweep.point import CAPTURES, Record, origin
from experiments.sweep.reproduce import Reproduction, at_line_rate
from experiments.sweep.run import PointRunner, Watch, carry_out
from testbed.lab.kernel import all_series
from testbed.lab.ready import Lab
from tests.unit.made_sweeps import LAB, Engine
from topologies.errors import TcplabError, UsageError


class Notes(Watch):
    """The sentences for people."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, text: str) -> None:
        self.told.append(text)


def dropped(data: Any, seed: int) -> Record:
    """Ten seconds and the seed, doubled under the profile."""
    names = [condition["name"] for condition in data["conditions"]]
    times = {name: (10.0 + seed) * (1 + name.endswith("_period")) for name in names}
    rows = [{"condition": name, "flow": "flow1", "client_seconds": times[name]} for name in names]
    return complete(rows)


def complete(rows: list[dict[str, Any]]) -> Record:
    record = {"status": "complete", "problem": "", "log": "", "rows": rows, "warnings": []}
    return record | {"usage": {"clock_seconds": 5.0, "cpu_seconds": 1.0}}


def reproduced(
    out: Path,
    wanted: Sequence[Target],
    engine: Engine,
    watch: Watch | None = None,
    rows: Sequence[str] = (),
    **more: Any,
) -> dict[str, Any]:
    """The content of reproduction.json after these targets have run as short forms."""
    asked = Reproduction(wanted, True, (), rows, **more)
    folder = carry_out(asked, out, PointRunner(LAB, engine, "two"), watch or Watch())
    content: dict[str, Any] = json.loads((folder / "reproduction.json").read_text())
    return content


def test_a_reproduction_puts_ours_beside_the_published_numbers(tmp_path: Path) -> None:
    engine, rows = Engine(dropped), chosen(True, ["packet_dropper"])
    content = reproduced(tmp_path, rows, engine)
    (study,) = content["studies"]
    assert [row["published"] for row in study["rows"]] == [target.published for target in rows]
    first, single = study["rows"][:2]
    seeds = [1, 2, 3, 4, 5, 6]
    assert first["today"] == single["today"] == [10.0 + seed for seed in seeds]
    assert (first["period"], first["seeds"]) == ([2 * (10.0 + seed) for seed in seeds], seeds)
    assert (first["published"], first["published_low"], first["mean_of"]) == (12.371, 12.33, 10)
    assert (single["published"], single["published_high"], single["mean_of"]) == (12.33, 12.44, 1)
    assert content["only"] == []
    assert {setting["name"] for setting in study["profile"]} >= {
        "net.ipv4.tcp_frto",
        "topology.links.1.rightward.bandwidth",
    }
    assert (content["mode"], content["status"]) == ("quick", "complete")
    again = reproduced(tmp_path, rows, engine)
    assert len(engine.ran) == 16 * 6
    assert again["studies"] == content["studies"]
    settings = {row["setting"]: row["where"] for row in study["rows"]}
    assert (len(study["rows"]), len(settings), len({*settings.values()})) == (88, 8, 8)


def test_what_captures_tell_fills_the_sack_table(tmp_path: Path) -> None:
    """Each number is the value at its own key; the row is the flow that was captured."""

    metrics = list(dict.fromkeys(target.metric for target in chosen(True, ["sack"])))

    def captured(data: Any, seed: int) -> Record:
        values = {name: float(place) for place, name in enumerate(metrics)}
        names = [condition["name"] for condition in data["conditions"]]
        return complete([{"condition": name, "flow": "flow1", **values} for name in names])

    engine = Engine(captured)
    (study,) = reproduced(tmp_path, chosen(True, ["sack"]), engine)["studies"]
    assert [row["today"] for row in study["rows"]] == [
        [float(metrics.index(target.metric))] * len(engine.ran) for target in chosen(True, ["sack"])
    ]
    assert all(row["period"] == [] for row in study["rows"])


def test_what_the_short_form_leaves_out_is_not_run_and_says_what_it_needs(tmp_path: Path) -> None:
    engine, wanted = Engine(dropped), chosen(True, ["sack_loss_sweep"])
    (study,) = reproduced(tmp_path, wanted, engine)["studies"]
    assert len(engine.ran) == 28 * 2 * 6  # today and then have each a network of their own
    needing = [row for row in study["rows"] if row["needs"]]
    assert {row["group"] for row in needing} == {"slowest second", "fastest second"}
    assert all(row["command"] is None and row["seeds"] == [] for row in needing)


def test_each_expression_of_a_run_is_measured_with_the_seeds_of_the_study(tmp_path: Path) -> None:
    engine, wanted = Engine(dropped), chosen(True, ["pacing"], ["queue 15"])
    (study,) = reproduced(tmp_path, wanted, engine)["studies"]
    assert [row["where"] for row in study["rows"]] == ["queue 15, paced", "queue 15, burst"]
    assert all(row["seeds"] == list(seeds_of("pacing", True)) for row in study["rows"])
    assert len(engine.ran) == 2 * 6


@pytest.mark.parametrize("quick", [True, False])
def test_every_study_has_six_seeds_at_least(quick: bool) -> None:
    for name in {target.experiment for target in targets(quick)}:
        assert published_study(name).seeds[not quick] >= 6, name


def test_a_point_whose_captures_are_measured_is_another_one() -> None:
    (one,) = grid_of(find("sack"), [])
    assert origin(LAB).point(one, 1).key != origin(LAB, CAPTURES).point(one, 1).key


def test_an_interrupted_reproduction_goes_on(tmp_path: Path) -> None:
    wanted = chosen(True, ["packet_dropper"])
    with pytest.raises(KeyboardInterrupt):
        reproduced(tmp_path, wanted, Engine(dropped, stop_after=5))
    engine = Engine(dropped)
    reproduced(tmp_path, wanted, engine)
    assert len(engine.ran) == 16 * 6 - 5


def test_failed_points_are_named(tmp_path: Path) -> None:
    def made(data: Any, seed: int) -> Record:
        if seed != 2:
            return dropped(data, seed)
        return complete([]) | {"status": "failed", "problem": "It broke."}

    (study,) = reproduced(tmp_path, chosen(True, ["packet_dropper"]), Engine(made))["studies"]
    assert len(study["failures"]) == 8
    failure = {"where": "0 % dropped, seed 2", "problem": "It broke.", "log": None}
    assert study["failures"][0] == failure
    assert study["rows"][0]["seeds"] == [1, 3, 4, 5, 6]


def test_everything_runs_on_the_kernel_that_is_asked_for() -> None:
    asked = combinations(chosen(True, ["sack"]), "6.1")
    specs_of = {each.spec.kernel for both in asked.values() for each in both.values()}
    assert specs_of == {"6.1"}
    with pytest.raises(UsageError, match=r"needs pie, which Linux 3\.13 lacks"):
        combinations([needing_pie()], "3.13")


def needing_pie() -> Target:
    """A row of a study that has sfq, with a queueing discipline that Linux 3.13 lacks."""
    target = chosen(True, ["udp_fairness"])[-1]
    return replace(target, settings=(*target.settings, ("queueing", "pie")))


def on_its_kernel(data: Any, seed: int) -> Record:
    """What `dropped` makes, and half of that on the kernel of the study's time."""
    record = dropped(data, seed)
    for row in record["rows"] if data["kernel"] == "3.13" else []:
        row["client_seconds"] /= 2
    return record


def test_the_kernel_of_its_time_has_a_column_of_its_own(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(period_kernel, "built_lab", lambda _: LAB)
    monkeypatch.setattr(point, "built_lab", lambda _: LAB)
    wanted = chosen(True, ["packet_dropper"], ["10 % dropped"])
    kernels = {"packet_dropper": PeriodKernelChoice("packet_dropper", "3.13", ("Nearer is none.",))}
    watch, engine = Notes(), Engine(on_its_kernel)
    content = reproduced(tmp_path, wanted, engine, watch, ["10 % dropped"], kernels=kernels)
    (study,) = content["studies"]
    assert len(engine.ran) == 3 * 6
    assert content["rows"] == ["10 % dropped"]
    row = study["rows"][0]
    assert row["period"] == [2 * (10.0 + seed) for seed in range(1, 7)]
    assert row["period_kernel"] == [10.0 + seed for seed in range(1, 7)]
    assert study["kernel"] == {
        "linux": "2.2 or 2.4",
        "known": published_study("packet_dropper").kernel.known,  # type: ignore[union-attr]
        "taken": "3.13",
        "remarks": ["Nearer is none."],
    }
    assert watch.told[:2] == [
        "packet_dropper: Nearer is none.",
        "packet_dropper: The kernel of its time is Linux 3.13.",
    ]


def test_the_nearest_kernel_that_is_built_and_can_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is passed over has a line each: unknown to this tcplab, lacking something, not built."""
    built = {"3.13"}

    def labs(series: str) -> Lab:
        if series not in built:
            raise TcplabError("It is not built.")
        return LAB

    monkeypatch.setattr(period_kernel, "built_lab", labs)
    monkeypatch.setattr(period_kernel, "all_series", lambda: ("7.2", "4.4", "3.13"))
    wanted = [*chosen(True, ["sack_loss_sweep", "packet_dropper"]), needing_pie()]
    kernels = period_kernels(wanted)
    assert {name: choice.series for name, choice in kernels.items()} == {
        "sack_loss_sweep": "3.13",
        "packet_dropper": "3.13",
        "udp_fairness": "",
    }
    unknown, lacking = kernels["udp_fairness"].remarks
    assert unknown == "This tcplab does not know Linux 2.6.32."
    assert "needs pie, which Linux 3.13 lacks" in lacking
    built.clear()
    not_built = period_kernels(wanted)["packet_dropper"]
    assert not_built.series == ""
    assert not_built.remarks[1] == (
        "Linux 3.13 is not built here: ./tcplab kernel build 3.13 --source linux-3.13.10.tar.xz"
    )


def test_only_rows_with_a_text_are_chosen() -> None:
    assert {target.where for target in chosen(True, [], ["20 % dropped"])} == {"20 % dropped"}
    with pytest.raises(UsageError, match="No published row has 'nowhere'"):
        chosen(True, [], ["nowhere"])


def test_every_study_says_which_kernel_it_had_and_how_that_is_known() -> None:
    for name in {target.experiment for target in targets(True) if not target.allowed}:
        kernel = published_study(name).kernel
        assert kernel and kernel.known and set(kernel.nearest) <= set(all_series()), name


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[kernel]\nlinux = "2.4"', "missing required field `known`"),
        ("order = first", "Invalid value"),
    ],
)
def test_facts_of_a_study_that_cannot_be_read_are_one_sentence(tmp_path, text, words) -> None:
    (tmp_path / "published.toml").write_text(text)
    with pytest.raises(UsageError, match=words) as caught:
        facts_beside(tmp_path / "__init__.py")
    assert "own-studies.md" in str(caught.value)


def test_a_full_link_is_named_and_one_of_several_flows_never_fills_it() -> None:
    every = [target for target in targets(True) if target.is_run]
    found = combinations(every)
    full = {
        (target.experiment, target.where, target.quantity)
        for target in every
        if at_line_rate(target, [*found[target].values()][-1].spec)
    }
    rows = {
        ("cubic_vs_reno", "section 3.1: no delay no loss, reno, 1 stream, 60 s", "rate"): True,
        ("cubic_vs_reno", "section 3.1: 300 ms delay, reno, 1 stream, 60 s", "rate"): False,
        ("packet_dropper", "0 % dropped", "mean elapsed time"): True,
        ("packet_dropper", "20 % dropped", "mean elapsed time"): False,
        ("sack_loss_sweep", "SACK on, loss 0.1%", "average rate"): True,
        ("sack_loss_sweep", "SACK on, loss 0.1%", "segments sent again"): False,
        ("sack_loss_sweep", "SACK off, loss 0.1%", "average rate"): False,
    }
    assert {row: row in full for row in rows} == rows
    of_flows = {quantity for _, _, quantity in full if "flow" in quantity}
    assert of_flows == {"the goodput of all flows"}
