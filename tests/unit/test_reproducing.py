"""A reproduction carried out with made-up runs: its rows, what goes on, what failed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.definition.catalogue import find
from experiments.definition.grid import combinations as grid_of
from experiments.published.target import Target
from experiments.published.target_points import combinations
from experiments.published.targets import chosen, published_study, targets
from experiments.reproduce.reproducing import carry_out
from experiments.sweep.point import CAPTURES, Record, origin
from experiments.sweep.python import SilentWatch
from experiments.sweep.running_points import PointRunner
from tests.unit.made_sweeps import LAB, Engine
from topologies.errors import UsageError


def dropped(data: Any, seed: int) -> Record:
    """Ten seconds and the seed, doubled under the profile."""
    rows = [
        {
            "condition": name,
            "flow": "flow1",
            "client_seconds": (10.0 + seed) * (1 + name.endswith("_period")),
        }
        for name in (condition["name"] for condition in data["conditions"])
    ]
    return {
        "status": "complete",
        "problem": "",
        "log": "",
        "rows": rows,
        "warnings": [],
        "usage": {"clock_seconds": 5.0, "cpu_seconds": 1.0},
    }


def test_a_reproduction_puts_ours_beside_the_published_numbers(tmp_path: Path) -> None:
    engine = Engine(dropped)
    folder = carry_out(
        chosen(True, ["packet_dropper"]),
        True,
        tmp_path,
        PointRunner(LAB, engine, "two"),
        SilentWatch(),
    )
    content = json.loads((folder / "reproduction.json").read_text())
    (study,) = content["studies"]
    rows = chosen(True, ["packet_dropper"])
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
    again = carry_out(
        chosen(True, ["packet_dropper"]),
        True,
        tmp_path,
        PointRunner(LAB, engine, "two"),
        SilentWatch(),
    )
    assert len(engine.ran) == 16 * 6
    assert json.loads((again / "reproduction.json").read_text())["studies"] == content["studies"]


def test_what_captures_tell_fills_the_sack_table(tmp_path: Path) -> None:
    """Each number is the value at its own key; the row is the flow that was captured."""

    metrics = list(dict.fromkeys(target.metric for target in chosen(True, ["sack"])))

    def captured(data: Any, seed: int) -> Record:
        values = {name: float(place) for place, name in enumerate(metrics)}
        rows = [
            {"condition": condition["name"], "flow": "flow1", **values}
            for condition in data["conditions"]
        ]
        return {
            "status": "complete",
            "problem": "",
            "log": "",
            "rows": rows,
            "warnings": [],
            "usage": {},
        }

    engine = Engine(captured)
    folder = carry_out(
        chosen(True, ["sack"]), True, tmp_path, PointRunner(LAB, engine, "two"), SilentWatch()
    )
    (study,) = json.loads((folder / "reproduction.json").read_text())["studies"]
    assert [row["today"] for row in study["rows"]] == [
        [float(metrics.index(target.metric))] * len(engine.ran) for target in chosen(True, ["sack"])
    ]
    assert all(row["period"] == [] for row in study["rows"])


def test_what_the_short_form_leaves_out_is_not_run_and_says_what_it_needs(tmp_path: Path) -> None:
    def swept(data: Any, seed: int) -> Record:
        return dropped(data, seed)

    engine, wanted = Engine(swept), chosen(True, ["sack_loss_sweep"])
    folder = carry_out(wanted, True, tmp_path, PointRunner(LAB, engine, "two"), SilentWatch())
    (study,) = json.loads((folder / "reproduction.json").read_text())["studies"]
    assert len(engine.ran) == 28 * 2 * 6  # today and then have each a network of their own
    needing = [row for row in study["rows"] if row["needs"]]
    assert {row["group"] for row in needing} == {"slowest second", "fastest second"}
    assert all(row["command"] is None and row["seeds"] == [] for row in needing)


def test_the_time_that_it_takes_is_told_before_it_begins(tmp_path: Path) -> None:
    told: list[str] = []
    way = PointRunner(LAB, Engine(dropped), "two", slots=2)
    wanted = chosen(True, ["packet_dropper"])
    for _ in range(2):
        carry_out(wanted, True, tmp_path, way, SilentWatch(), ["packet_dropper"], told.append)
    seconds = published_study("packet_dropper").processor_seconds
    assert seconds
    whole, half = (f"{round(seconds[0] * 6 / 60 / slots)} minutes" for slots in (1, 2))
    assert told == [
        f"This takes about {whole} of a processor, {half} with 2 at once.",
        "Everything is known: nothing has to be run.",
    ]


@pytest.mark.parametrize("quick", [True, False])
def test_every_study_says_what_it_takes_and_has_six_seeds_at_least(quick: bool) -> None:
    for name in {target.experiment for target in targets(quick)}:
        study = published_study(name)
        assert study.processor_seconds and study.seeds[not quick] >= 6, name


def test_a_point_whose_captures_are_measured_is_another_one() -> None:
    (one,) = grid_of(find("sack"), [])
    assert origin(LAB).point(one, 1).key != origin(LAB, CAPTURES).point(one, 1).key


def test_an_interrupted_reproduction_goes_on(tmp_path: Path) -> None:
    wanted = chosen(True, ["packet_dropper"])
    with pytest.raises(KeyboardInterrupt):
        carry_out(
            wanted,
            True,
            tmp_path,
            PointRunner(LAB, Engine(dropped, stop_after=5), "two"),
            SilentWatch(),
        )
    engine = Engine(dropped)
    carry_out(wanted, True, tmp_path, PointRunner(LAB, engine, "two"), SilentWatch())
    assert len(engine.ran) == 16 * 6 - 5


def test_a_study_without_an_experiment_lists_its_published_numbers(tmp_path: Path) -> None:
    target = Target("not_there", "somewhere", "rate", "Mbit/s", 1.5, (), "c", "client_kbit_s")
    folder = carry_out(
        [target], True, tmp_path, PointRunner(LAB, Engine(dropped), "two"), SilentWatch()
    )
    (study,) = json.loads((folder / "reproduction.json").read_text())["studies"]
    (row,) = study["rows"]
    assert (row["published"], row["today"], row["period"]) == (1.5, [], [])
    assert "not an experiment of this version" in study["notes"][0]


def test_failed_points_are_named(tmp_path: Path) -> None:
    def made(data: Any, seed: int) -> Record:
        if seed == 2:
            return {
                "status": "failed",
                "problem": "It broke.",
                "log": "",
                "rows": [],
                "warnings": [],
            }
        return dropped(data, seed)

    folder = carry_out(
        chosen(True, ["packet_dropper"]),
        True,
        tmp_path,
        PointRunner(LAB, Engine(made), "two"),
        SilentWatch(),
    )
    (study,) = json.loads((folder / "reproduction.json").read_text())["studies"]
    assert len(study["failures"]) == 8
    assert study["failures"][0] == {
        "where": "0 % dropped, seed 2",
        "problem": "It broke.",
        "log": None,
    }
    assert study["rows"][0]["seeds"] == [1, 3, 4, 5, 6]


def test_everything_runs_on_the_kernel_that_is_asked_for() -> None:
    asked = combinations(chosen(True, ["sack"]), "6.1")
    specs_of = {each.spec.kernel for both in asked.values() for each in both.values()}
    assert specs_of == {"6.1"}
    with pytest.raises(UsageError, match="RACK came with Linux"):
        combinations(chosen(True, ["cubic_vs_reno"]), "3.13")
