"""Loss sweep of 2017: summary table, graph and answers of its page; counts next to each report."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from operator import attrgetter
from pathlib import Path

import numpy as np

from analysis.fmt import NOTHING, written
from analysis.graphs.layers import BLUE, VERMILLION, Axis, Graph, GraphGroup, Layer, SeriesLook
from analysis.measures.sweep_folder import CONDITION, SweepRecord, SweptFactor
from analysis.records.run_directory import RunRecord
from analysis.reporting.answers import Answer
from analysis.reporting.effects import Cells, PublishedOrder, SweepStudy
from analysis.reporting.studies import StudyReport
from analysis.reporting.tables import published_rows
from analysis.statistics.sweep_samples import SweepSamples
from experiments.sack_loss_sweep.statistics_file import file_name, statistics

SHARE = 0.95  # share of the rate at the least loss, below which the study calls a rate affected

_HEAD = ("SACK", "Loss-Rate", "retrans-%", "Min", "Average", "Max")
_RATES = ("slowest_second_kbit_s", "mean_second_kbit_s", "fastest_second_kbit_s")
_NOTES = (
    (
        "Loss-Rate is netem's, in percent. retrans-% are the segments that the sender sent again of"
        " all that it sent (TcpRetransSegs, TcpOutSegs). Min, Average and Max are of the rates that"
        " iperf prints each second, in Mbit/s."
    ),
    "Measured values are medians if there are several seeds.",
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
    def cells(self) -> Cells:
        """Write figures like awk: at most six digits, without powers of ten."""
        figures = (self.loss, self.resent, self.slowest, self.mean, self.fastest)
        return (str(int(self.sack)), *(_plain(figure, 6) for figure in figures))


def published_lines() -> tuple[LossLine, ...]:
    rows = (row.values() for row in published_rows(Path(__file__).with_name("published.csv")))
    return tuple(LossLine(sack == "1", *map(float, figures)) for sack, *figures in rows)


def lines_of_sweep(sweep: SweepRecord, samples: SweepSamples) -> tuple[LossLine, ...]:
    varied = {
        factor.name: axis for axis, factor in enumerate(sweep.factors) if len(factor.values) > 1
    }
    if set(varied) != {"loss", CONDITION} or samples.is_empty:
        return ()
    lines = []
    for sack, label in ((False, "SACK off"), (True, "SACK on")):
        condition = _level(sweep.factors[varied[CONDITION]], label)
        for level, loss in enumerate(samples.amounts[varied["loss"]]):
            place = [0] * len(sweep.factors)
            place[varied["loss"]], place[varied[CONDITION]] = level, condition
            if loss is not None and samples.counts[tuple(place)]:
                lines.append(_line(sack, round(loss, 9), samples, tuple(place)))
    return tuple(sorted(lines, key=attrgetter("sack", "loss")))


def _level(factor: SweptFactor, label: str) -> int:
    """Return today's condition; if there is none, that of the study's time."""
    return min(
        (level for level, value in enumerate(factor.values) if value.startswith(label)), default=0
    )


def _line(sack: bool, loss: float, samples: SweepSamples, place: tuple[int, ...]) -> LossLine:
    resent = float(samples.medians["resent_percent"][place])
    rates = ((float(samples.medians[name][place]), samples.units[name]) for name in _RATES)
    return LossLine(
        sack, loss, resent, *(rate if unit == "Mbit/s" else rate / 1000 for rate, unit in rates)
    )


def summary(ours: Sequence[LossLine], published: Sequence[LossLine]) -> PublishedOrder:
    lines = {(line.sack, line.loss): line.cells[2:] for line in published}
    beside = tuple(lines.get((line.sack, line.loss), (NOTHING,) * 4) for line in ours)
    title = "The rate at each loss, in the published columns"
    return PublishedOrder(
        title, _HEAD, tuple(line.cells for line in ours), _HEAD[2:], beside, _NOTES
    )


def answers(ours: Sequence[LossLine], published: Sequence[LossLine]) -> tuple[Answer, ...]:
    lost, least = f"{100 - 100 * SHARE:.0f} %", "that at the least loss"

    def affected(rate: str) -> tuple[str, ...]:
        """Compare each condition's first affected line with the published one."""
        return tuple(
            f"SACK {'on' if sack else 'off'}: {_first(ours, sack, rate)}"
            f" Published: {_first(published, sack, rate)}"
            for sack in (False, True)
        )

    rates = {"average rate": "mean", "slowest second": "slowest"}
    most = f"Measured: {_most(ours)} Published: {_most(published)}"
    return (
        *(
            Answer(
                f"From which loss on is the {name} more than {lost} below {least}?", affected(rate)
            )
            for name, rate in rates.items()
        ),
        Answer("At which loss does SACK matter most?", (most,)),
    )


def _first(every: Sequence[LossLine], sack: bool, rate: str) -> str:
    """Return the first line whose rate is below its share of the rate at the least loss."""
    of, lines = attrgetter(rate), [line for line in every if line.sack == sack]
    if not lines:
        return "not measured."
    least = lines[0]
    first = next((line for line in lines if of(line) < SHARE * of(least)), None)
    if first is None:
        return f"not up to a loss of {_percent(lines[-1].loss)}."
    return (
        f"from a loss of {_percent(first.loss)} on, where {_percent(first.resent)} of the segments"
        f" are sent again: {written(of(first))} Mbit/s after {written(of(least))} at"
        f" {_percent(least.loss)}."
    )


def _most(lines: Sequence[LossLine]) -> str:
    """Return where the average rate with SACK is the greatest multiple of that without."""
    without = {line.loss: line.mean for line in lines if not line.sack and line.mean}
    ratios = [
        (line.mean / without[line.loss], line)
        for line in lines
        if line.sack and line.loss in without
    ]
    if not ratios:
        return "not measured."
    ratio, line = max(ratios, key=lambda pair: pair[0])
    rates = f"{written(line.mean)} and {written(without[line.loss])} Mbit/s"
    return (
        f"at {_percent(line.loss)}, where the rate with SACK is {written(ratio)} times that without"
        f" ({rates})."
    )


def _percent(value: float) -> str:
    return f"{_plain(value, 3)} %"


def _plain(value: float, digits: int) -> str:
    return f"{Decimal(f'{value:.{digits}g}'):f}"


_CAPTION = (
    "Each mark is a loss rate of netem: to the right, the share of segments that the sender sent"
    " again, by its counters; upwards, the mean of the seconds' rates. Solid lines are measured,"
    " dashed ones published. The second graph has a logarithmic rate, which shows how far the"
    " small ones are apart. Without SACK a time-out has all that is outstanding sent again, needed"
    " or not: that moves a mark to the right of its loss."
)


_SHARE = Axis("segments retransmitted, of all segments sent", "%")
_RATE = Axis("rate", "bit/s", 1e6, zero=True)


def graphs(ours: Sequence[LossLine], published: Sequence[LossLine]) -> GraphGroup:
    title = "What retransmissions cost, without and with SACK"
    layers = tuple(
        layer
        for whose, lines in (("measured", ours), ("published", published))
        for sack in (False, True)
        for layer in _curve(whose, [line for line in lines if line.sack == sack], sack)
    )
    logarithmic = replace(_RATE, zero=False, log=True)
    linear = Graph("loss_linear", "The rate", "", _SHARE, _RATE, layers)
    small = Graph("loss_logarithmic", "The rate, logarithmic", "", _SHARE, logarithmic, layers)
    return GraphGroup("rate_by_retransmission", title, _CAPTION, (linear, small))


def _curve(whose: str, lines: Sequence[LossLine], sack: bool) -> list[Layer]:
    if not lines:
        return []
    is_ours = whose == "measured"
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


def statistics_files(run: RunRecord) -> Iterator[tuple[str, bytes]]:
    for trial in run.trials:
        yield (file_name(trial.condition.name, {}, trial.seed), statistics(run, trial).encode())


def sweep_study(sweep: SweepRecord, samples: SweepSamples) -> SweepStudy | None:
    """Return the study's table, graph and answers; None if the sweep varies other factors."""
    ours, published = lines_of_sweep(sweep, samples), published_lines()
    if not ours:
        return None
    return SweepStudy(summary(ours, published), graphs(ours, published), answers(ours, published))


REPORT = StudyReport(extra_files=statistics_files, sweep_study=sweep_study)
