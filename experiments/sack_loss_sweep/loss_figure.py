"""The rate against the share of segments that were really retransmitted, ours and published."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter

from analysis.figures.panels import PanelMargins, board
from analysis.figures.published_marks import ValueMark, value_axis
from analysis.rendering.figure_style import BLUE, VERMILLION, png, settings
from analysis.reporting.run_pictures import Picture
from experiments.sack_loss_sweep.loss_summary import LossLine

_CAPTION = (
    "Each mark is a loss rate of netem: to the right, the share of segments that the sender sent"
    " again, as its own counters say; upwards, the mean of the seconds' rates. Filled marks are"
    " ours, hollow ones published. Below, the same with a logarithmic rate, which shows how far the"
    " small ones are apart. Without SACK a time-out has all that is outstanding sent again, needed"
    " or not: that moves a mark to the right of its loss."
)


def picture(ours: Sequence[LossLine], published: Sequence[LossLine]) -> Picture:
    """Two panels with one horizontal axis: the rate linear, and logarithmic."""
    title = "What retransmissions cost, without and with SACK"
    return Picture("rate_by_retransmission.png", title, _CAPTION, _draw(ours, published))


def _draw(ours: Sequence[LossLine], published: Sequence[LossLine]) -> bytes:
    kinds = [
        (
            f"SACK {'on' if sack else 'off'}, {whose}",
            [line for line in lines if line.sack == sack],
            color,
            mark,
            hollow,
        )
        for whose, lines, hollow in (("ours", ours, False), ("published", published, True))
        for sack, color, mark in ((False, VERMILLION, "o"), (True, BLUE, "s"))
    ]
    with settings():
        legend = [
            _drawn([], [], color, mark, hollow, name) for name, _, color, mark, hollow in kinds
        ]
        made = board(2, PanelMargins(height=3.6, columns=1, same_y=False), legend)
        for axes in made.axes:
            for name, lines, color, mark, hollow in kinds:
                axes.add_line(
                    _drawn(
                        [line.resent for line in lines],
                        [line.mean for line in lines],
                        color,
                        mark,
                        hollow,
                        name,
                    )
                )
            axes.autoscale_view()
        shown = [ValueMark(line.resent, line.mean, None) for line in (*ours, *published)]
        value_axis(made.axes[1], "y", shown)
        made.axes[0].set_ylim(bottom=0)
        _shares(made.axes, [line.resent for line in (*ours, *published)])
        made.label("Rate (Mbit/s)", "Segments retransmitted (% of all segments sent)")
        return png(made.figure)


def _shares(shown: Sequence[Axes], values: Sequence[float]) -> None:
    """The horizontal axis: logarithmic, with a place for runs without a retransmission."""
    value_axis(shown[0], "x", [ValueMark(0, value, None) for value in values])
    least = min(value for value in values if value > 0)
    shown[0].set_xlim(-least / 20 if min(values) == 0 else least / 2, 1.6 * max(values))
    for axes in shown:
        axes.xaxis.set_major_formatter(
            FuncFormatter(lambda value, _: f"{value:f}".rstrip("0").rstrip(".") or "0")
        )


def _drawn(
    across: list[float], up: list[float], color: str, mark: str, hollow: bool, name: str
) -> Line2D:
    return Line2D(
        across,
        up,
        color=color,
        marker=mark,
        linewidth=1.3,
        linestyle="--" if hollow else "-",
        label=name,
        markersize=8 if hollow else 6,
        markerfacecolor="none" if hollow else color,
        markeredgewidth=1.5,
    )
