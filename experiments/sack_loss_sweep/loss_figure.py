"""The rate against the share of segments that were really retransmitted, ours and published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analysis.graphs.layers import Axis, Graph, GraphGroup, Layer
from analysis.graphs.looks import SeriesLook
from analysis.rendering.colours import BLUE, VERMILLION
from experiments.sack_loss_sweep.loss_summary import LossLine

_CAPTION = (
    "Each mark is a loss rate of netem: to the right, the share of segments that the sender sent"
    " again, as its own counters say; upwards, the mean of the seconds' rates. Solid lines are"
    " ours, dashed ones published. The second graph has a logarithmic rate, which shows how far the"
    " small ones are apart. Without SACK a time-out has all that is outstanding sent again, needed"
    " or not: that moves a mark to the right of its loss."
)


_SHARE = Axis("segments retransmitted, of all segments sent", "%")
_RATE = Axis("rate", "bit/s", 1e6, zero=True)


def graphs(ours: Sequence[LossLine], published: Sequence[LossLine]) -> GraphGroup:
    """Two graphs with one horizontal axis: the rate linear, and logarithmic."""
    title = "What retransmissions cost, without and with SACK"
    layers = tuple(
        layer
        for whose, lines in (("ours", ours), ("published", published))
        for sack in (False, True)
        for layer in _line(whose, [line for line in lines if line.sack == sack], sack)
    )
    logarithmic = replace(_RATE, zero=False, log=True)
    linear = Graph("loss_linear", "The rate", "", _SHARE, _RATE, layers, over_time=False)
    small = Graph(
        "loss_logarithmic",
        "The rate, logarithmic",
        "",
        _SHARE,
        logarithmic,
        layers,
        over_time=False,
    )
    return GraphGroup("rate_by_retransmission", title, _CAPTION, (linear, small))


def _line(whose: str, lines: Sequence[LossLine], sack: bool) -> list[Layer]:
    if not lines:
        return []
    is_ours = whose == "ours"
    look = SeriesLook("", BLUE, "square") if sack else SeriesLook("", VERMILLION, "circle")
    look = replace(look, every=True, dash=not is_ours, mark=look.mark if is_ours else "ring")
    ordered = sorted(lines, key=lambda line: line.resent)
    across = np.array([line.resent for line in ordered])
    up = np.array([line.mean for line in ordered])
    words = f"SACK {'on' if sack else 'off'}, {whose}"
    return [
        Layer(look, "line", across, up, words=words),
        Layer(replace(look, dash=False), "dots", across, up, words=words),
    ]
