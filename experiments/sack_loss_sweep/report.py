"""Loss sweep of 2017: the rate at each loss in the published columns, the answers, and a graph."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from operator import attrgetter
from pathlib import Path
from statistics import median

import numpy as np

from analysis.fmt import NOTHING, written
from analysis.graphs.layers import BLUE, VERMILLION, Axis, Graph, GraphGroup, Layer, SeriesLook
from analysis.measures.sweep_folder import CONDITION, SweepRecord
from analysis.reporting.effects import Row, SweepEffect, SweptCell
from analysis.reporting.studies import StudyReport
from analysis.reporting.tables import Listing, published_rows

SHARE = 0.95  # share of the rate at the least loss, below which the study calls a rate affected
_HEAD = ("SACK", "Loss-Rate", "retrans-%", "Min", "Average", "Max")
_RATES = ("slowest_second_kbit_s", "mean_second_kbit_s", "fastest_second_kbit_s")
_NOTE = (
    "Loss-Rate is netem's, in percent. retrans-% are the segments that the sender sent again of"
    " all that it sent (TcpRetransSegs, TcpOutSegs). Min, Average and Max are of the rates that"
    " iperf prints each second, in Mbit/s. Measured values are medians if there are several seeds."
)
_CAPTION = (
    "Each mark is a loss rate of netem: to the right, the share of segments that the sender sent"
    " again, by its counters; upwards, the mean of the seconds' rates. Solid lines are measured,"
    " dashed ones published. The second graph has a logarithmic rate, which shows how far the"
    " small ones are apart. Without SACK a time-out has all that is outstanding sent again, needed"
    " or not: that moves a mark to the right of its loss."
)


@dataclass(frozen=True)
class LossLine:
    """A line of the summary: `loss` and `resent` in percent, the rates of the seconds in Mbit/s."""

    sack: bool
    loss: float
    resent: float
    slowest: float
    mean: float
    fastest: float

    @property
    def cells(self) -> tuple[str, ...]:
        """Write figures like awk: at most six digits, without powers of ten."""
        figures = (self.loss, self.resent, self.slowest, self.mean, self.fastest)
        return (str(int(self.sack)), *(_plain(figure, 6) for figure in figures))


def published_lines() -> list[LossLine]:
    rows = (row.values() for row in published_rows(Path(__file__).with_name("published.csv")))
    return [LossLine(sack == "1", *map(float, figures[:5])) for sack, *figures in rows]


def measured_lines(sweep: SweepRecord, cells: Sequence[SweptCell]) -> list[LossLine]:
    """Return the lines of a sweep; none if it varies other factors than the study did."""
    if {one.name for one in sweep.factors if len(one.values) > 1} != {"loss", CONDITION}:
        return []
    runs: dict[tuple[str, float], list[Row]] = defaultdict(list)
    for row in (row for cell in cells for run in cell.runs for row in run):
        if None not in map(row.get, ("loss_percent", "resent_percent", *_RATES)):
            runs[row["condition"], row["loss_percent"]].append(row)
    conditions = {name for name, _ in runs}
    lines = []
    for name in ("sack_off", "sack_on"):
        chosen = name if name in conditions else f"{name}_period"
        losses = sorted(loss for condition, loss in runs if condition == chosen)
        lines += [_line(name == "sack_on", loss, runs[chosen, loss]) for loss in losses]
    return lines


def _line(sack: bool, loss: float, rows: Sequence[Row]) -> LossLine:
    resent, *rates = (median(row[name] for row in rows) for name in ("resent_percent", *_RATES))
    return LossLine(sack, round(loss, 9), resent, *(rate / 1000 for rate in rates))


def listings(sweep: SweepRecord, cells: Sequence[SweptCell]) -> tuple[Listing, ...]:
    """Return the study's table, with published cells behind the measured ones, and answers."""
    ours, published = measured_lines(sweep, cells), published_lines()
    if not ours:
        return ()
    theirs = {(line.sack, line.loss): line.cells[2:] for line in published}
    none = (NOTHING,) * len(_HEAD[2:])
    rows = tuple((*line.cells, *theirs.get((line.sack, line.loss), none)) for line in ours)
    head = (*_HEAD, *(f"{name}, published" for name in _HEAD[2:]))
    notes = (_NOTE, *answers(ours, published))
    return (Listing("The rate at each loss, in the published columns", head, rows, notes),)


def answers(ours: Sequence[LossLine], published: Sequence[LossLine]) -> Iterator[str]:
    """Yield the study's questions, each with the measured and the published answer."""
    for name, rate in {"average rate": "mean", "slowest second": "slowest"}.items():
        yield (
            f"From which loss on is the {name} more than {100 - 100 * SHARE:.0f} % below that at"
            " the least loss?"
        )
        for sack, word in ((False, "off"), (True, "on")):
            first, second = (_first(lines, sack, rate) for lines in (ours, published))
            yield f"SACK {word}: {first} Published: {second}"
    yield f"SACK matters most {_most(ours)} Published: {_most(published)}"


def _first(every: Sequence[LossLine], sack: bool, rate: str) -> str:
    """Return the first line whose rate is below its share of the rate at the least loss."""
    of, lines = attrgetter(rate), [line for line in every if line.sack == sack]
    if not lines:
        return "not measured."
    least = lines[0]
    first = next((line for line in lines if of(line) < SHARE * of(least)), None)
    if first is None:
        return f"not up to a loss of {_plain(lines[-1].loss, 3)} %."
    return (
        f"from a loss of {_plain(first.loss, 3)} % on, where {_plain(first.resent, 3)} % of the"
        f" segments are sent again: {written(of(first))} Mbit/s after {written(of(least))} at"
        f" {_plain(least.loss, 3)} %."
    )


def _most(lines: Sequence[LossLine]) -> str:
    """Return where the average rate with SACK is the greatest multiple of that without."""
    without = {line.loss: line.mean for line in lines if not line.sack and line.mean}
    both = [line for line in lines if line.sack and line.loss in without]
    if not both:
        return "not measured."
    most = max(both, key=lambda line: line.mean / without[line.loss])
    return (
        f"at {_plain(most.loss, 3)} %, where the rate with SACK is"
        f" {written(most.mean / without[most.loss])} times that without"
        f" ({written(most.mean)} and {written(without[most.loss])} Mbit/s)."
    )


def _plain(value: float, digits: int) -> str:
    return f"{Decimal(f'{value:.{digits}g}'):f}"


def effect(sweep: SweepRecord, cells: Sequence[SweptCell]) -> SweepEffect | None:
    if not (ours := measured_lines(sweep, cells)):
        return None
    layers = tuple(
        layer
        for whose, lines in (("measured", ours), ("published", published_lines()))
        for sack in (False, True)
        for layer in _curve(whose, [line for line in lines if line.sack == sack], sack)
    )
    share = Axis("segments retransmitted, of all segments sent", "%")
    rate = Axis("rate", "bit/s", 1e6, zero=True)
    logarithmic = replace(rate, zero=False, log=True)
    linear = Graph("loss_linear", "The rate", "", share, rate, layers)
    small = Graph("loss_logarithmic", "The rate, logarithmic", "", share, logarithmic, layers)
    title = "What retransmissions cost, without and with SACK"
    picture = GraphGroup("rate_by_retransmission", title, _CAPTION, (linear, small))
    return SweepEffect(f"SACK matters most {_most(ours)}", picture)


def _curve(whose: str, lines: Sequence[LossLine], sack: bool) -> list[Layer]:
    if not lines:
        return []
    is_ours = whose == "measured"
    look = SeriesLook("", BLUE, "square") if sack else SeriesLook("", VERMILLION, "circle")
    look = replace(look, every=True, dash=not is_ours, mark=look.mark if is_ours else "ring")
    ordered = sorted(lines, key=attrgetter("resent"))
    across, up = np.array([(line.resent, line.mean) for line in ordered]).T
    words = f"SACK {'on' if sack else 'off'}, {whose}"
    return [
        Layer(look, "line", across, up, words=words),
        Layer(replace(look, dash=False), "dots", across, up, words=words),
    ]


REPORT = StudyReport(sweep_listings=listings, sweep_effect=effect)
