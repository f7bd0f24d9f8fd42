"""The loss sweep of 2017: its summary table, and from which loss on SACK off and on are slower."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from operator import attrgetter
from pathlib import Path

from analysis.measures.run_results import NOTHING, written
from analysis.records.sweep_folder import CONDITION, SweepRecord, SweptFactor
from analysis.reporting.answers import Answer
from analysis.reporting.published_file import published_rows
from analysis.reporting.sweep_summary import Cells, PublishedOrder
from analysis.statistics.sweep_samples import SweepSamples

SHARE = 0.95
"""Of the rate at the least loss: below it the study calls a rate affected."""

_HEAD = ("SACK", "Loss-Rate", "retrans-%", "Min", "Average", "Max")
_RATES = ("slowest_second_kbit_s", "mean_second_kbit_s", "fastest_second_kbit_s")
_NOTES = (
    (
        "Loss-Rate is netem's, in percent. retrans-% are the segments that the sender sent again of"
        " all that it sent (TcpRetransSegs, TcpOutSegs). Min, Average and Max are of the rates that"
        " iperf prints each second, in Mbit/s."
    ),
    "Ours are medians if there are several seeds.",
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
        """As awk printed them: six digits at most, and no powers of ten."""
        figures = (self.loss, self.resent, self.slowest, self.mean, self.fastest)
        return (str(int(self.sack)), *(_plain(figure, 6) for figure in figures))


def published() -> tuple[LossLine, ...]:
    """The published lines, in their order."""
    rows = (row.values() for row in published_rows(Path(__file__).with_name("published.csv")))
    return tuple(LossLine(sack == "1", *map(float, figures)) for sack, *figures in rows)


def ours(sweep: SweepRecord, samples: SweepSamples) -> tuple[LossLine, ...]:
    """The sweep's lines, SACK off first and by loss; none if it varies more than the study did."""
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
    """Today's condition; if there is none, the one under the settings of its time."""
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
    """Our lines with the published ones of the same loss beside them."""
    lines = {(line.sack, line.loss): line.cells[2:] for line in published}
    beside = tuple(lines.get((line.sack, line.loss), (NOTHING,) * 4) for line in ours)
    title = "The rate at each loss, in the published columns"
    return PublishedOrder(
        title, _HEAD, tuple(line.cells for line in ours), _HEAD[2:], beside, _NOTES
    )


def answers(ours: Sequence[LossLine], published: Sequence[LossLine]) -> tuple[Answer, ...]:
    """The questions of the study, answered from our lines and from the published ones."""
    lost, at_least = f"{100 - 100 * SHARE:.0f} %", "at the least loss"
    both = (("SACK off", False), ("SACK on", True))
    return (
        Answer(
            f"From which loss on is the average rate more than {lost} below that {at_least}?",
            tuple(_affected(name, sack, ours, published, "mean") for name, sack in both),
        ),
        Answer(
            f"From which loss on is the slowest second more than {lost} below that {at_least}?",
            tuple(_affected(name, sack, ours, published, "slowest") for name, sack in both),
        ),
        Answer(
            "At which loss does SACK matter most?",
            (f"Ours: {_most(ours)} Published: {_most(published)}",),
        ),
    )


def _affected(
    name: str, sack: bool, ours: Sequence[LossLine], published: Sequence[LossLine], rate: str
) -> str:
    first_of_ours, first_published = (
        _first([line for line in lines if line.sack == sack], rate) for lines in (ours, published)
    )
    return f"{name}: {first_of_ours} Published: {first_published}"


def _first(lines: Sequence[LossLine], rate: str) -> str:
    """The first line whose rate is below its share of the rate at the least loss, in words."""
    of = attrgetter(rate)
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
    """Where the average rate with SACK is the greatest multiple of that without."""
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
