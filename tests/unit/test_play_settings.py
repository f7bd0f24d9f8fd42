"""What is set on the live page: parsed at the edge, and the same as a command line."""

import shlex

import pytest

from experiments.play.settings import PlaySettings, WrongSetting


@pytest.mark.parametrize(
    ("texts", "field"),
    [
        ({"bw": "fast"}, "bw"),
        ({"loss": "200%"}, "loss"),
        ({"jitter": "90ms"}, "jitter"),
        ({"flows": "cubic+quick"}, "flows"),
        ({"flows": "cubic+" * 4 + "reno"}, "flows"),
        ({"flows": ""}, "flows"),
        ({"discipline": "first"}, "discipline"),
        ({"sack": "maybe"}, "sack"),
        ({"seed": "0"}, "seed"),
        ({"seed": "9" * 40}, "seed"),
        ({"speed": "1"}, "speed"),
        ({"change": "5s"}, "change"),
        ({"change": "5s queue=3"}, "change"),
        ({"change": "20s bw=1mbit"}, "change"),
        ({"change": "5s delay=5ms jitter=10ms"}, "change"),
        ({"duration": "2s", "flows": "cubic@3s"}, "duration"),
    ],
)
def test_a_wrong_value_is_named(texts: dict[str, str], field: str) -> None:
    with pytest.raises(WrongSetting) as caught:
        PlaySettings.from_data(texts)
    assert caught.value.field == field


def test_the_usual_settings_survive_the_way_to_texts_and_back() -> None:
    settings = PlaySettings.from_data({"bw": "3mbit", "flows": "cubic+bbr@2s", "seed": "7"})
    assert PlaySettings.from_data(settings.as_data()) == settings


def test_the_command_has_what_differs() -> None:
    settings = PlaySettings.from_data({"bw": "3mbit", "flows": "cubic+bbr@2s", "seed": "7"})
    words = shlex.split(settings.command())
    assert words[:3] == ["./tcplab", "run", "playground"]
    options = ["--bw", "3mbit", "--flows", "cubic+bbr@2s", "--seed", "7", "--repeat", "1"]
    assert words[3:] == options


def test_flows_begin_when_they_are_told_and_end_together() -> None:
    spec = PlaySettings.from_data({"flows": "cubic+bbr@2s", "duration": "9s"}).spec()
    assert [str(flow.start) for flow in spec.flows] == ["0s", "2s"]
    assert {str(flow.end) for flow in spec.flows} == {"9s"}
    assert [flow.congestion_control for flow in spec.flows] == ["cubic", "bbr"]
