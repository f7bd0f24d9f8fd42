"""The studies as data: profiles, forms, grids, and a run for every published number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.records.row_columns import METRICS, Row
from analysis.reporting.quantities import TRANSFER
from analysis.reporting.tables import published_rows
from experiments.definition.catalogue import Experiment, catalogue, find, part
from experiments.definition.grid import combination
from experiments.definition.grid import combinations as grid_of
from experiments.definition.profiles import (
    DROPPER,
    LINUX_2_4,
    LINUX_2_6,
    LINUX_2_6_32,
    LINUX_2_6_FULL_LINE,
    LINUX_3_10,
    under,
)
from experiments.definition.single_run import single
from experiments.published.same_settings import published_beside
from experiments.published.target import Target
from experiments.published.target_points import asked, combinations, times
from experiments.published.targets import chosen, targets
from experiments.reproduce.reproducing import carry_out
from experiments.spec import Condition, ExperimentSpec, Proof, congestion_control
from experiments.sweep.plan import plan
from experiments.sweep.point import CAPTURES, Record, origin
from experiments.sweep.published_values import published_of
from experiments.sweep.python import SilentWatch
from experiments.sweep.running_points import PointRunner
from experiments.sweep.sweep_definition import SweepDefinition
from tests.unit.made_sweeps import LAB, Engine
from topologies.errors import UsageError

PUBLISHED_ORDER = (
    "sack",
    "sack_loss_sweep",
    "cubic_vs_reno",
    "udp_fairness",
    "reordering",
    "custom_cc",
    "wan_reordering",
    "packet_dropper",
)
PROFILES = (LINUX_2_4, LINUX_2_6, LINUX_2_6_FULL_LINE, LINUX_2_6_32, LINUX_3_10)


@pytest.mark.parametrize("profile", PROFILES, ids=lambda profile: profile.name)
def test_a_profile_gives_a_reason_for_each_setting_once(profile: Any) -> None:
    settings = [*profile.settings, *profile.path]
    names = [setting.name for setting in settings]
    assert len(set(names)) == len(names)
    assert all(setting.reason.endswith(".") and len(setting.reason) > 20 for setting in settings)


def test_a_condition_keeps_its_own_settings_under_a_profile() -> None:
    today, period = under(LINUX_2_4, "today+period", [congestion_control("bbr")])
    assert (today.name, period.name) == ("bbr", "bbr_period")
    assert today == congestion_control("bbr")
    assert dict(period.sysctls)["net.ipv4.tcp_congestion_control"] == "bbr"
    assert dict(period.sysctls)["net.ipv4.tcp_frto"] == "0"
    assert period.proofs == (Proof("congestion_control", "bbr"),)


@pytest.mark.parametrize("words", ["", "yesterday", "today+today", "today+"])
def test_an_unknown_period_is_refused(words: str) -> None:
    with pytest.raises(UsageError, match="today\\+period"):
        under(LINUX_2_6, words, [Condition("c", "c")])


@pytest.mark.parametrize("named", catalogue(), ids=lambda named: named.name)
def test_forms_and_grid_of_an_experiment_are_possible(named: Experiment) -> None:
    for word in ("quick", "full"):
        preset = named.preset(word)
        made = combination(named, preset)
        assert made.spec.name == named.name
    for form in ({}, named.preset("quick"), named.preset("full")):
        values = {name: (value,) for name, value in form.items()} | named.grid()
        assert plan(SweepDefinition(named.name, tuple(values.items()), (1,))).combinations
    assert named.metric() in {metric.name for metric in METRICS}
    assert named.claim.endswith(".")


def published(study: str) -> list[dict[str, str]]:
    """The rows of its CSV."""
    return published_rows(find(study).file.with_name("published.csv"))


def test_studies_are_reproduced_in_the_order_that_they_say() -> None:
    names = dict.fromkeys(target.experiment for target in targets(quick=True))
    assert tuple(names) == PUBLISHED_ORDER


@pytest.mark.parametrize("quick", [True, False])
def test_every_published_number_has_a_target(quick: bool) -> None:
    every = targets(quick)
    repeating = [named.name for named in catalogue() if part(named.name, "targets")]
    rows = sum(len(published(name)) for name in repeating if name != "sack")
    pairs = [row[word] for row in published("sack") for word in ("sack_off", "sack_on")]
    assert len(every) == rows + len([number for number in pairs if number]) == 125 + 33
    assert len({(target.where, target.quantity, target.experiment) for target in every}) == len(
        every
    )


def test_every_target_can_be_run_as_today_and_as_then() -> None:
    metrics = {metric.name for metric in METRICS} | {quantity.key.name for quantity in TRANSFER}
    for target, both in combinations(targets(quick=False)).items():
        assert target.metric in metrics
        assert set(both) == set(times(target.experiment))
        for time, timed in both.items():
            name = f"{target.condition}_period" if time == "period" else target.condition
            assert name in [condition.name for condition in timed.spec.conditions], target.where
            assert not target.captured or timed.spec.captures


def test_a_network_of_its_time_is_in_the_runs_of_its_time_only() -> None:
    (target,) = (
        target for target in targets(True) if target.where.startswith("section 3.1: 5 % loss, reno")
    )
    both = combinations([target])[target]
    back = {time: timed.spec.topology.links[1].rightward for time, timed in both.items()}
    assert back["today"] and back["period"]
    assert back["today"].delay < back["period"].delay
    assert [condition.name for condition in both["today"].spec.conditions] == ["reno"]


def _settings(options: dict[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in options.items()]


def beside(name: str, *settings: str, **options: str) -> list[tuple[str, str | None, str | None]]:
    """Number, today's condition and the period's of what is published for these options."""
    rows = published_beside(single(find(name), [*settings, *_settings(options)]).spec)
    return [(str(row.target.published), row.today, row.period) for row in rows]


def test_a_run_finds_the_published_numbers_of_its_very_settings() -> None:
    assert beside("cubic_vs_reno", delay="300ms", cc="cubic+reno+bbr") == [
        ("29.7", "cubic", None),
        ("29.8", "reno", None),
    ]
    path = [f"{setting.name}={setting.value}" for setting in LINUX_2_6.path]
    then = {"delay": "0.3s", "cc": "reno", "period": "today+period"}
    assert beside("cubic_vs_reno", **then) == [("29.8", "reno", None)]  # the network is today's
    assert beside("cubic_vs_reno", *path, **then) == [("29.8", None, "reno_period")]
    assert beside("udp_fairness", *path, queueing="sfq", period="period") == [
        ("9.4", None, "together_period"),
        ("86.0", None, "together_period"),
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"delay": "301ms"},
        {"delay": "300ms", "duration": "59s"},
        {"delay": "300ms", "streams": "2"},
        {"delay": "300ms", "queue": "999"},
    ],
)
def test_another_setting_has_no_published_number(other: dict[str, str]) -> None:
    assert beside("cubic_vs_reno", **other) == []


def test_a_sysctl_of_ones_own_has_no_published_number() -> None:
    assert beside("reordering") != []
    assert beside("reordering", "net.ipv4.tcp_recovery=0") == []


def test_the_metric_of_a_row_is_one_that_a_run_has() -> None:
    names = {metric.name for metric in METRICS}
    (match,) = published_beside(single(find("packet_dropper"), ["loss=1%"]).spec)
    row = match.described()
    assert row["metric"] in names and row["published_low"] == 30.21


def sent(condition: str, rate: float) -> list[Row]:
    return [
        {"condition": condition, "flow": "flow1", "client_kbit_s": rate, "goodput_kbit_s": rate}
    ]


def swept(experiment: str, **options: str) -> ExperimentSpec:
    return single(find(experiment), _settings(options)).spec


def test_a_sweep_has_a_row_where_a_point_was_published() -> None:
    reno, other = (
        swept("cubic_vs_reno", cc="reno", delay="300ms"),
        swept("cubic_vs_reno", cc="reno", delay="200ms"),
    )
    content = published_of(
        [(other, {1: sent("reno", 9e3)}), (reno, {1: sent("reno", 3e4), 2: sent("reno", 29e3)})]
    )
    (row,) = content["rows"]
    assert (row["published"], row["today"], row["period"], row["seeds"]) == (
        29.8,
        [30, 29],
        [],
        [1, 2],
    )
    assert content["note"] == ""


def test_a_short_sweep_says_that_it_is_short() -> None:
    quick, full = (
        swept("wan_reordering", case="8", duration=duration) for duration in ("10s", "60s")
    )
    short = published_of([(quick, {1: sent("reordering", 6e6)})])
    assert "10 s for each case instead of 60 s" in short["note"]
    assert [row["today"] for row in short["rows"]] == [[6000]]
    assert published_of([(full, {1: sent("reordering", 6e6)})])["note"] == ""


def test_a_sweep_of_other_settings_has_no_published_row() -> None:
    assert published_of([(swept("cubic_vs_reno", delay="301ms"), {1: sent("cubic", 1e3)})]) == {}
    assert published_of([(swept("cubic_vs_reno", delay="300ms", cc="reno"), {})]) == {}


def test_the_row_without_the_dropping_module_has_a_faster_router() -> None:
    rates = [
        asked(target, "period")[DROPPER]
        for target in targets(True)
        if target.experiment == "packet_dropper"
    ]
    assert rates == ["98.44mbit"] + 7 * ["43.5mbit"]


def test_repetitions_of_the_same_stand_for_their_range() -> None:
    ranges = {
        target.where: (target.low, target.high)
        for target in targets(True)
        if "loss with SACK" in target.where
    }
    assert len(ranges) == 5
    assert set(ranges.values()) == {(1.97, 2.7)}


def test_an_unknown_study_is_refused() -> None:
    with pytest.raises(UsageError, match="No published study is named 'tahoe'"):
        chosen(True, ["tahoe"])


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
    assert [row["published"] for row in study["rows"]] == [
        float(row["elapsed_avg_s"]) for row in published("packet_dropper")
    ]
    first = study["rows"][0]
    assert (first["today"], first["period"], first["seeds"]) == (
        [11.0, 12.0, 13.0],
        [22.0, 24.0, 26.0],
        [1, 2, 3],
    )
    assert first["published_low"] == 12.33
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
    assert len(engine.ran) == 48
    assert json.loads((again / "reproduction.json").read_text())["studies"] == content["studies"]


def test_what_captures_tell_fills_the_sack_table(tmp_path: Path) -> None:
    """Each number is the value at its own key; the row is the flow that was captured."""

    def captured(data: Any, seed: int) -> Record:
        values = {quantity.key.name: float(place) for place, quantity in enumerate(TRANSFER)}
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
    names = [quantity.name for quantity in TRANSFER]
    assert [row["today"] for row in study["rows"]] == [
        [float(names.index(row["quantity"]))] * len(engine.ran) for row in study["rows"]
    ]
    assert all(row["period"] == [] for row in study["rows"])


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
    assert len(engine.ran) == 43


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
    assert study["rows"][0]["seeds"] == [1, 3]
