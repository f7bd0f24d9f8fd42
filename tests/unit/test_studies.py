"""The studies as data: profiles, forms, grids, and a run for every published number."""

from collections import Counter
from statistics import fmean
from typing import Any

import pytest

from analysis.measures.expressions import parse
from analysis.measures.metrics import Row, columns, is_metric
from analysis.reporting.tables import published_rows
from experiments.spec import Condition, ExperimentSpec, Proof, congestion_control
from experiments.study import kernels
from experiments.study.catalogue import Experiment, catalogue, find
from experiments.study.grid import combination, single
from experiments.study.kernels import DROPPER, LINUX_2_4, LINUX_2_6, Profile, under
from experiments.study.points import asked, combinations, published_with_run, times
from experiments.study.published import chosen, targets
from experiments.sweep.definition import SweepDefinition, plan
from experiments.sweep.reproduce import published_of
from topologies.errors import UsageError

PUBLISHED_ORDER = (
    *("sack", "sack_loss_sweep", "cubic_vs_reno", "udp_fairness", "reordering", "custom_cc"),
    *("wan_reordering", "packet_dropper"),
)
LAWS = (
    *("bbr_share", "buffer_size", "idle_restart", "incast", "initial_window", "l4s_coexistence"),
    *("latency_under_load", "pacing", "rate_step", "reno_friendly", "tail_loss"),
    *("unfair_round_trips", "vegas_queue"),
)
SACK_COLUMNS = ("sack_off", "sack_on", "second_capture")
PROFILES = [each for each in vars(kernels).values() if isinstance(each, Profile)]


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
        definition = SweepDefinition(named.name, tuple(values.items()), metric=named.metric())
        assert plan(definition).combinations
    assert named.claim.endswith(".")


def published(study: str) -> list[dict[str, str]]:
    """The rows of its CSV."""
    return published_rows(find(study).file.with_name("published.csv"))


def test_studies_are_reproduced_in_the_order_that_they_say() -> None:
    names = dict.fromkeys(target.experiment for target in targets(quick=True))
    assert tuple(names) == PUBLISHED_ORDER + LAWS


def _lines(study: str, name: str) -> int:
    return len(published_rows(find(study).file.with_name(f"{name}.csv")))


@pytest.mark.parametrize("quick", [True, False])
def test_every_line_of_the_files_has_its_rows(quick: bool) -> None:
    """How many rows a study has, counted from its files."""
    cells = [row[name] for row in published("sack") for name in SACK_COLUMNS]
    parallel = {"cubic_vs_reno": 3, "custom_cc": 6, "udp_fairness": 2}
    numbers = [target for target in targets(quick) if not target.allowed]
    rows = Counter(target.experiment for target in numbers)
    assert rows == {
        "sack": sum(map(bool, cells)),
        "sack_loss_sweep": 4 * _lines("sack_loss_sweep", "published"),
        "cubic_vs_reno": _lines("cubic_vs_reno", "published") + 2 * parallel["cubic_vs_reno"],
        "udp_fairness": _lines("udp_fairness", "published") + 2 * parallel["udp_fairness"] + 4,
        "reordering": _lines("reordering", "published"),
        "custom_cc": _lines("custom_cc", "published") + 2 * parallel["custom_cc"],
        "wan_reordering": 3 * _lines("wan_reordering", "published"),
        "packet_dropper": 11 * _lines("packet_dropper", "published"),
    }
    assert sum(rows.values()) == 482
    assert sum(_lines(study, "published_flows") for study in parallel) == 290
    assert len({(each.where, each.quantity, each.experiment) for each in numbers}) == 482


@pytest.mark.parametrize("study", LAWS)
def test_a_law_has_rows_with_the_range_of_its_claim(study: str) -> None:
    rows = [target for target in targets(quick=True) if target.experiment == study]
    for target, both in combinations(rows).items():
        headline = both["today"].spec.headline
        assert headline and headline.repetitions >= 6
        claimed = (target.condition, target.metric) == (headline.subject.condition, headline.metric)
        if claimed and headline.direction == "within":
            assert target.published == pytest.approx(headline.expected, rel=1e-3)
            assert target.allowed == headline.ends
    claim = single(find(study), []).spec.headline
    assert claim and claim.metric in {row.metric for row in rows}
    assert published_with_run(single(find(study), []).spec) == []


def test_what_takes_hours_or_is_listed_is_not_run() -> None:
    left = Counter(target.group for target in targets(True) if not target.is_run)
    assert left == {
        "slowest second": 56,
        "fastest second": 56,
        "rates": 3,
        "slowest and fastest of parallel flows": 2,
        "amounts": 15,
    }
    assert {target.group for target in targets(False) if not target.is_run} == {"amounts"}


def test_the_second_capture_stands_beside_our_runs_without_sack() -> None:
    """tcptrace printed for it: sack pkts sent 0, and no line of a SYN that offers SACK."""
    second = [target for target in targets(True) if target.where.startswith("SACK on (")]
    assert len(second) == 23
    assert {target.condition for target in second} == {"sack_off"}


def test_the_short_form_of_the_long_path_is_compared_with_its_first_seconds() -> None:
    rows = {
        quick: {
            target.quantity: target.published
            for target in targets(quick)
            if target.where == "case 3, run 1"
        }
        for quick in (True, False)
    }
    assert rows[True] == {
        "rate at the sender": 3388.5,
        "segments sent again": 49498,
        "amount in 60 s": 51.8,
    }
    assert rows[False]["segments sent again"] == 733378
    seconds = published_rows(find("wan_reordering").file.with_name("published_seconds.csv"))
    for row in published("wan_reordering"):
        case = "baseline" if row["test_case"] == "0" else row["test_case"]
        lines = [line for line in seconds if (line["case"], line["run"]) == (case, row["run"])]
        assert len(lines) == 60
        again = sum(int(line["retransmissions"]) for line in lines)
        assert again == int(row["retransmissions"])  # the printed seconds are all there
        rates = [float(line["sender_mbit_s"]) for line in lines[:10]]
        assert float(row["first_mbit_s"]) == round(fmean(rates), 1)
        first = sum(int(line["retransmissions"]) for line in lines[:10])
        assert first == int(row["first_retransmissions"])


def test_columns_that_follow_from_others_agree_with_them() -> None:
    for row in published("packet_dropper"):
        times = [float(row[f"elapsed_s_{number}"]) for number in range(1, 11)]
        assert (float(row["least_s"]), float(row["greatest_s"])) == (min(times), max(times))
    for study in ("cubic_vs_reno", "custom_cc", "udp_fairness"):
        flows = published_rows(find(study).file.with_name("published_flows.csv"))
        names = ("condition", "congestion_control", "streams", "duration_s")
        for row in published(study):
            rates = [
                float(each["mbit_s"]) for each in flows if all(each[n] == row[n] for n in names)
            ]
            bounds = [str(bound) for bound in (min(rates), max(rates))] if rates else ["", ""]
            assert [row["slowest_mbit_s"], row["fastest_mbit_s"]] == bounds


def test_every_target_can_be_run_as_today_and_as_then() -> None:
    for target, both in combinations(targets(quick=False)).items():
        assert target.metric in columns() or is_metric(target.metric) or parse(target.metric)
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
    rows = published_with_run(single(find(name), [*settings, *_settings(options)]).spec)
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
    assert beside("udp_fairness", *path, queueing="sfq", late="9x3s", period="period") == [
        (number, None, "together_period")
        for number in ("9.4", "52", "2.355", "86.0", "8.44", "12.6")
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
    names = {*columns()}
    mean, *times = published_with_run(single(find("packet_dropper"), ["loss=1%"]).spec)
    row = mean.described()
    assert row["metric"] in names and row["published_low"] == 30.21
    assert len(times) == 10


def sent(condition: str, rate: float) -> list[Row]:
    return [
        {"condition": condition, "flow": "flow1", "client_kbit_s": rate, "goodput_kbit_s": rate}
    ]


def swept(experiment: str, **options: str) -> ExperimentSpec:
    return single(find(experiment), _settings(options)).spec


def test_a_sweep_has_a_row_where_a_point_was_published() -> None:
    reno, other = (swept("cubic_vs_reno", cc="reno", delay=delay) for delay in ("300ms", "200ms"))
    ours = [(1, sent("reno", 3e4)), (2, sent("reno", 29e3))]
    content = published_of([(other, [(1, sent("reno", 9e3))]), (reno, ours)])
    (row,) = content["rows"]
    assert (row["published"], row["today"], row["period"]) == (29.8, [30, 29], [])
    assert (row["seeds"], content["note"]) == ([1, 2], "")


def test_a_short_sweep_says_that_it_is_short() -> None:
    quick, full = (
        swept("wan_reordering", case="8", duration=duration) for duration in ("10s", "60s")
    )
    short = published_of([(quick, [(1, sent("reordering", 6e6))])])
    assert "10 s for each case instead of 60 s" in short["note"]
    assert [row["today"] for row in short["rows"]] == [[6000]]
    assert published_of([(full, [(1, sent("reordering", 6e6))])])["note"] == ""


def test_a_sweep_of_other_settings_has_no_published_row() -> None:
    assert published_of([(swept("cubic_vs_reno", delay="301ms"), [(1, sent("cubic", 1e3))])]) == {}
    assert published_of([(swept("cubic_vs_reno", delay="300ms", cc="reno"), [])]) == {}


def test_the_row_without_the_dropping_module_has_a_faster_router() -> None:
    rates = [
        asked(target, "period")[DROPPER]
        for target in targets(True)
        if target.experiment == "packet_dropper" and target.mean_of == 10
    ]
    assert rates == ["98.44mbit"] + 7 * ["43.5mbit"]


def test_what_a_kernel_of_its_time_does_by_itself_is_not_set_on_it() -> None:
    target = next(target for target in targets(True) if target.experiment == "wan_reordering")
    assert asked(target, "period")["netem"] == "old"
    assert asked(target, "period_kernel", "3.13")["netem"] == "old"
    assert "netem" not in asked(target, "period_kernel", "2.6.32")


def test_repetitions_of_the_same_show_their_range() -> None:
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


def test_a_flow_beside_the_others_has_a_congestion_control_of_its_own() -> None:
    study = find("cubic_vs_reno")
    flows = single(study, ["beside=bbr", "streams=2"]).spec.flows
    assert [flow.congestion_control for flow in flows] == ["", "", "bbr"]
    assert [(flow.sender, flow.port) for flow in flows[1:]] == [("right", 5002), ("top", 5003)]
