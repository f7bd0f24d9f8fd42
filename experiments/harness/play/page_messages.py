"""What the page and the server say to each other.

From the page, JSON texts: `play`, `seeds`, `save` and `stop`, each with a side and a number that
grows. To the page, JSON texts with a `kind`, and frames as binary messages: the length of a header
(four bytes, the least first), the header as JSON, then the columns behind one another, each padded
to eight bytes, so that a browser can look at them where they are.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from experiments.harness.play.events import PlayEvent
from experiments.harness.play.played_columns import Frame
from experiments.harness.play.player import PlayOutcome
from experiments.harness.play.settings import PlaySettings, WrongSetting
from topologies.foundation.errors import TcplabError, UsageError

_SIDES = ("A", "B")
_MOST_SEEDS = 100
_LARGEST = 8
"""Bytes of the largest number of a column; every column begins at a multiple of them."""


@dataclass(frozen=True)
class Move:
    """What a page asks for: settings for one of its sides, by the page's own running number.

    While a slider is `dragging`, more moves will follow at once. With `seeds` it is for a band.
    """

    ask: Literal["play", "seeds", "save"]
    side: str
    number: int
    data: dict[str, str]
    dragging: bool = False
    seeds: int = 0

    def settings(self) -> PlaySettings:
        """Raises UsageError that names the field."""
        return PlaySettings.from_data(self.data)


def move_from(text: str) -> Move:
    """The move that a page's message is. Raises UsageError for what no page of ours sends."""
    try:
        said = json.loads(text)
        move = Move(
            said["ask"],
            said["side"],
            int(said["number"]),
            {str(name): str(value) for name, value in said["settings"].items()},
            bool(said.get("dragging", False)),
            int(said.get("seeds", 0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(f"No message of the page: {error}", "Load the page again.") from None
    known = move.ask in ("play", "seeds", "save") and move.side in _SIDES
    if not known or not 0 <= move.seeds <= _MOST_SEEDS:
        raise UsageError("No message of the page.", "Load the page again.")
    return move


def frame_message(move: Move, frame: Frame) -> bytes:
    """A frame as one binary message."""
    columns = {name: np.ascontiguousarray(column) for name, column in frame.columns.items()}
    header = _mark(move, frame.kind) | {
        "columns": [
            {"name": name, "type": str(column.dtype), "length": len(column)}
            for name, column in columns.items()
        ]
    }
    text = json.dumps(header).encode()
    text += b" " * (-(4 + len(text)) % _LARGEST)
    parts = [len(text).to_bytes(4, "little"), text]
    for column in columns.values():
        data = column.tobytes()
        parts += [data, bytes(-len(data) % _LARGEST)]
    return b"".join(parts)


def event_message(move: Move, event: PlayEvent) -> str:
    return _text(
        move, "event", time=event.time, flow=event.flow, event=event.kind, sentence=event.sentence
    )


def outcome_message(move: Move, outcome: PlayOutcome, measures: dict[str, float]) -> str:
    return _text(
        move,
        "outcome",
        verdict=outcome.verdict,
        flows=outcome.flows,
        phases=outcome.phases,
        measures=measures,
    )


def accepted_message(move: Move, settings: PlaySettings) -> str:
    """Says how the settings are written in full, and as a command."""
    return _text(move, "accepted", settings=settings.as_data(), command=settings.command())


def problem_message(move: Move, error: TcplabError) -> str:
    """A problem; that of a setting is shown beside its field."""
    field = error.field if isinstance(error, WrongSetting) else ""
    return _text(move, "problem", field=field, sentence=str(error))


def plain_message(move: Move, kind: str, **more: Any) -> str:
    return _text(move, kind, **more)


def _text(move: Move, kind: str, **more: Any) -> str:
    return json.dumps(_mark(move, kind) | more, allow_nan=False, default=float)


def _mark(move: Move, kind: str) -> dict[str, Any]:
    return {"kind": kind, "side": move.side, "number": move.number}
