"""The live page in a notebook: what a cell says comes to a player, and its run as data frames."""

import json
from typing import Any

import pytest

from experiments.play import play
from experiments.play.settings import PlaySettings
from tests.play.made_player import MadePlayer
from tests.play.serving import wait_until
from topologies.errors import UsageError

pytest.importorskip("anywidget", reason="no anywidget here: pip install 'tcplab[notebook]'")


@pytest.fixture
def widget(monkeypatch: pytest.MonkeyPatch) -> Any:
    from experiments.play.notebook import PlayWidget

    sent: list[Any] = []
    monkeypatch.setattr(
        PlayWidget, "send", lambda self, content, buffers=(): sent.append((content, buffers))
    )
    made = PlayWidget(PlaySettings.from_data({"loss": "1%"}), MadePlayer(0.05))
    made.sent = sent
    yield made
    made.close()


def say(widget: Any, number: int, **changes: str) -> None:
    settings = PlaySettings().as_data() | changes
    text = {"ask": "play", "side": "A", "number": number, "settings": settings}
    widget._handle_custom_msg({"text": json.dumps(text)}, [])


def outcomes(widget: Any) -> list[int]:
    texts = [json.loads(content["text"]) for content, _ in widget.sent if "text" in content]
    return [text["number"] for text in texts if text["kind"] == "outcome"]


def test_the_cell_has_the_page_and_begins_with_the_settings(widget: Any) -> None:
    assert "<script>" in widget.page and "play.js" not in widget.page
    assert "loss=1%25" in widget.offer["link"] and len(widget.offer["lessons"]) > 10


def test_what_was_played_is_there_as_data_frames(widget: Any) -> None:
    say(widget, 1, duration="5s", flows="cubic+reno")
    wait_until(lambda: outcomes(widget) == [1])
    frames = widget.frame
    assert {"samples", "packets", "rates", "queue", "drops"} <= {*frames}
    assert {*frames["samples"].columns} >= {"time", "flow", "cwnd", "ssthresh", "rtt"}
    assert len(frames["samples"]) == 1000 and widget.events
    say(widget, 2, duration="2s")
    wait_until(lambda: outcomes(widget) == [1, 2])
    assert len(widget.frame["samples"]) == 200
    assert any(buffers for _, buffers in widget.sent)


def test_a_wrong_setting_is_refused() -> None:
    with pytest.raises(UsageError, match="soon"):
        play(delay="soon")
