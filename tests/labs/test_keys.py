"""Keys of key.toml: expressions of measures, settings and other answers."""

from pathlib import Path

import pytest

from labs.definition import catalogue
from labs.definition.key import Key, KeyFile, WrittenKey, key_module
from labs.measuring.measures import MeasuredRun
from topologies.errors import UsageError
from topologies.units import Duration, Rate

VALUES = {
    "server.rate": 500.0,
    "flow1.transfer_kbyte": 2048.0,
    "flow1.goodput_kbit_s": 300.0,
    "udp.goodput_kbit_s": 100.0,
}
RUNS = {"sack": MeasuredRun(({"sack_on": VALUES, "sack_off": {"server.rate": 250.0}},))}
VARIABLES = {"bw": Rate.parse("2mbit"), "sack.delay": Duration.parse("20ms")}


def key_of(**parts: object) -> Key:
    """The key of the SACK lab, written so."""
    written = WrittenKey(catalogue.find("sack"), KeyFile(lesson="1 < 2", **parts))  # type: ignore[arg-type]
    return written.key(RUNS, VARIABLES)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("sack:sack_on/server.rate", 500.0),
        ("ratio(sack:sack_off/server.rate, sack:sack_on/server.rate)", 2.0),
        ("bw - 2 * sack.delay", 1960.0),
        ("printed(sack:sack_on/flow1.transfer_kbyte)", 2000.0),
        ("printed(1023)", 1023.0),
        ("sum(sack:sack_on/rates)", 400.0),
        ("jain(sack:sack_on/rates)", 0.8),
        ("packets(12112, 1)", 1.0),
        ("median(3, 1, 2)", 2.0),
    ],
)
def test_an_expression_has_the_value(text: str, value: float) -> None:
    key = key_of(numbers={"one": text, "two": "2 * one"})
    assert key.numbers["one"] == pytest.approx(value)
    assert key.numbers["two"] == pytest.approx(2 * value)


@pytest.mark.parametrize(
    ("after", "right"), [(1.051, "more"), (1.049, "same"), (0.951, "same"), (0.949, "less")]
)
def test_a_twentieth_is_the_same(after: float, right: str) -> None:
    compared = (f"{after} * sack:sack_off/server.rate", "sack:sack_off/server.rate")
    assert key_of(choices={"where": (*compared, "more", "same", "less")}).choices == {
        "where": {right}
    }


def test_frames_are_the_first_or_those_without_others() -> None:
    events = {"syn": (9, 4, 12), "fast": (4, 5)}
    values = {f"frame.h1-eth0.{name}.{n}": 1.5 for name, listed in events.items() for n in listed}
    run = MeasuredRun(({"sack_on": values, "sack_off": {}},))
    wrong = {"report_frame": {"others": "syn without fast", "none": "first rto"}}
    key = KeyFile("1 < 2", frames={"report_frame": "first syn"}, wrong_frames=wrong)
    made = WrittenKey(catalogue.find("sack"), key).key({"sack": run}, VARIABLES)
    assert [*made.frames["report_frame"]] == [4]
    named = {name: [*each] for name, each in made.wrong_frames["report_frame"].items()}
    assert named == {"others": [9, 12], "none": []}


def test_options_are_right_under_conditions() -> None:
    options = {"a": "bw > 1", "b": "bw > 1 and bw < 2", "c": "0 < bw < 3000"}
    assert key_of(choices={"blocks": options}).choices == {"blocks": {"a", "c"}}


def test_a_choice_about_a_run_that_was_not_made_is_left_out() -> None:
    compared = ("changed:sack_on/server.rate", "1", "larger", "same", "smaller")
    key = key_of(choices={"change_effect": compared})
    assert key.choices == {} and key.measured == {}


def test_what_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="uses 'delay'"):
        key_of(numbers={"one": "delay + 1"})
    with pytest.raises(KeyError):
        key_of(numbers={"one": "sack:sack_on/flow2.goodput_kbit_s"})
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/key.toml").write_text("number = 1\n")
    monkeypatch.setattr(catalogue, "folder_of", lambda name: tmp_path / name)
    monkeypatch.setattr(catalogue, "find", lambda name: None)
    with pytest.raises(UsageError, match=r"key\.toml cannot be read"):
        key_module("broken")
