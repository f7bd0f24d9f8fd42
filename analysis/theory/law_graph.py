"""What the graph of a law shows, as data: lines of the law, dots of the run, on the same axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class LawLine:
    """What a formula gives, drawn as a line; an `other` one, which is not claimed, is dotted."""

    label: str
    across: Sequence[float]
    up: Sequence[float]
    other: bool = False


@dataclass(frozen=True)
class LawGraph:
    """Lines, and the measured `dots` (across, up).

    `labels` are those of the axes; `logarithmic` names the axes that are so: "", "x", "y" or "xy".
    `tolerance` is the share of the first line's value that is shaded around it.
    """

    labels: tuple[str, str]
    lines: tuple[LawLine, ...]
    dots: tuple[Sequence[float], Sequence[float]]
    logarithmic: str = ""
    tolerance: float = 0.0
