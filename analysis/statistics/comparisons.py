"""The family of paired comparisons of a sweep: verdicts, sentences, CSV and first lines."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.fmt import NOTHING, called, probability, share, verb, written
from analysis.measures.sweep_folder import SweepRecord
from analysis.statistics import paired_tests
from analysis.statistics.paired_tests import (
    DifferenceVerdict,
    Paired,
    estimate,
    interval,
    verdict_of,
)
from analysis.statistics.power import level_pairs
from analysis.statistics.sweep_samples import Place, SweepSamples
from analysis.table import csv_lines

ENOUGH = 0.95  # share of what was due that should have ended


@dataclass(frozen=True)
class LevelComparison:
    """Two levels of the compared factor, `second` against `first`, in one cell of the others.

    `place` is the cell of `first`, and `where` its other factors in words. `paired` is None
    where no seed has both; `corrected` is the p after Holm over all comparisons of the sweep.
    """

    place: Place
    where: str
    first: str
    second: str
    paired: Paired | None
    corrected: float = 1.0
    factor: str = ""

    def in_words(self, level: str) -> str:
        """Return a level as a sentence names it, such as "queue 20" or "cubic"."""
        return f"{self.factor} {level}" if self.factor and level[:1].isdigit() else level

    @property
    def verdict(self) -> DifferenceVerdict:
        return verdict_of(self.paired, self.corrected)


_Family = Sequence[LevelComparison]


def compare(sweep: SweepRecord, samples: SweepSamples) -> list[LevelComparison]:
    """Return all comparisons in the order of the grid; none without a value or compared factor."""
    if sweep.compare is None or samples.is_empty:
        return []
    comparisons = list(_pairs(sweep, samples, sweep.compare))
    corrected = paired_tests.holm([each.paired.p if each.paired else 1.0 for each in comparisons])
    return [replace(each, corrected=p) for each, p in zip(comparisons, corrected, strict=True)]


def _pairs(sweep: SweepRecord, samples: SweepSamples, axis: int) -> Iterator[LevelComparison]:
    levels, name = sweep.factors[axis].values, sweep.factors[axis].short
    others = tuple(place for place in range(len(sweep.shape)) if place != axis)
    for rest in np.ndindex(*(sweep.shape[other] for other in others)):
        for first, second in level_pairs(len(levels)):
            places = [(*rest[:axis], level, *rest[axis:]) for level in (first, second)]
            before, after = (samples.values[place] for place in places)
            paired = paired_tests.paired(before, after, samples.trajectories(places))
            where = sweep.described(places[0], others)
            pair = levels[first], levels[second]
            yield LevelComparison(places[0], where, *pair, paired, factor=name)


def sentence(comparison: LevelComparison, sweep: SweepRecord, samples: SweepSamples) -> str:
    """Such as "loss 1%: goodput is larger with bbr than with cubic: 1.42 times (...)."."""
    where = f"{comparison.where}: " if comparison.where else ""
    first, second = map(comparison.in_words, (comparison.first, comparison.second))
    verdict, paired = comparison.verdict, comparison.paired
    if paired is None:
        return f"{where}{second} and {first} cannot be compared: they have no seed in common."
    claim = f"{verdict} with {second} than with {first}"
    if verdict == DifferenceVerdict.UNSHOWN:
        claim = f"{verdict} between {second} and {first}"
    seeds = "1 seed" if paired.count == 1 else f"{paired.count:,} seeds"
    return (
        f"{where}{called(sweep.metric)} {verb(sweep.metric)} {claim}:"
        f" {estimate(paired, samples.unit)} ({interval(paired) or 'no interval'}, {seeds},"
        f" p {probability(comparison.corrected)} after Holm)."
    )


def _balances(comparisons: _Family) -> list[str]:
    pairs: dict[tuple[str, str], Counter[DifferenceVerdict]] = {}
    for each in comparisons:
        pairs.setdefault((each.first, each.second), Counter())[each.verdict] += 1
    lines = []
    for (first, second), found in pairs.items():
        counts = (
            f"{verdict} in {found[verdict]}" for verdict in DifferenceVerdict if found[verdict]
        )
        lines.append(f"{second} against {first}: {', '.join(counts)}.")
    return lines


def too_few(comparisons: _Family) -> list[str]:
    """Say that the test cannot show any difference, which must not look like agreement."""
    seeds = max((each.paired.count for each in comparisons if each.paired), default=0)
    needed, count = paired_tests.fewest_seeds(len(comparisons)), len(comparisons)
    if seeds >= needed:
        return []
    those = "One seed" if seeds == 1 else f"{seeds:,} seeds"
    family = "" if count == 1 else f" in any of {count} comparisons"
    need = f"it takes at least {needed} (--seeds {needed})."
    return [f"{those} cannot show a difference{family}: {need}"]


def csv_text(comparisons: _Family, sweep: SweepRecord, samples: SweepSamples) -> str:
    """comparisons.csv: a column for each other factor, the two levels, and the figures in full."""
    axes = [axis for axis in range(len(sweep.factors)) if axis != sweep.compare]
    figures = ("scale", "unit", "estimate", "low", "high", "seeds", "p", "p_holm", "verdict")
    names = (sweep.factors[axis].name for axis in axes)
    rows: list[list[str | float | None]] = [[*names, "first", "second", *figures]]
    for each in comparisons:
        others = [sweep.factors[axis].values[each.place[axis]] for axis in axes]
        found: list[str | float | None] = [*[None] * 5, 0, None]
        if pair := each.paired:
            unit = "" if pair.scale == "ratio" else samples.unit
            found = [pair.scale, unit, pair.estimate, pair.low, pair.high, pair.count, pair.p]
        rows.append([*others, each.first, each.second, *found, each.corrected, each.verdict])
    return csv_lines(rows)


def row(comparison: LevelComparison, unit: str) -> tuple[str, ...]:
    """The cells of the table: place, the levels, estimate, interval, seeds, p and verdict."""
    figures, paired = (NOTHING, NOTHING, "0", NOTHING), comparison.paired
    if paired:
        around = interval(paired).removeprefix("95 % interval ") or NOTHING
        p = probability(comparison.corrected).removeprefix("= ")
        figures = (estimate(paired, unit), around, written(paired.count), p)
    return (comparison.where, comparison.first, comparison.second, *figures, comparison.verdict)


_GOODPUTS = {"goodput_kbit_s", "total_goodput_kbit_s"}
"""Metrics with equal values for a single flow."""
_OPPOSITE: dict[str, DifferenceVerdict] = {
    DifferenceVerdict.LARGER: DifferenceVerdict.SMALLER,
    DifferenceVerdict.SMALLER: DifferenceVerdict.LARGER,
}


def question(sweep: SweepRecord) -> str:
    """Return the question of the sweep: the experiment's if only its conditions vary."""
    if sweep.compare is None:
        return f"How large {verb(sweep.metric)} {called(sweep.metric)}?"
    if sweep.facts.headline and len(sweep.factors) == 1:
        return sweep.facts.headline.question
    return f"Does the {sweep.factors[sweep.compare].name} change {called(sweep.metric)}?"


def first_lines(sweep: SweepRecord, comparisons: _Family, samples: SweepSamples) -> list[str]:
    """The verdict, and what belongs to it: the only comparison, or each pair's balance."""
    if samples.is_empty:
        return ["There is no measurement, because no run is finished."]
    if not comparisons:
        return ["No comparison: the sweep names no factor to compare. The medians are below."]
    words = sentence(comparisons[0], sweep, samples)
    only = [words[:1].upper() + words[1:]] if len(comparisons) == 1 else []
    if few := too_few(comparisons):
        return [*only, *(f"Not shown: {line[0].lower()}{line[1:]}" for line in few)]
    shown = sum(comparison.verdict != DifferenceVerdict.UNSHOWN for comparison in comparisons)
    claimed = _claimed(sweep, comparisons, samples)
    if only:
        return [claimed, *only] if claimed else [f"{'Shown' if shown else 'Not shown'}: {only[0]}"]
    of_all, name = f"{shown} of {len(comparisons)} comparisons", called(sweep.metric)
    if claimed:
        first = [claimed, f"In {of_all} {name} {verb(sweep.metric)} shown to differ."]
    else:
        beginning = f"Shown in {of_all}" if shown else "Not shown in any comparison"
        first = [f"{beginning}: that {name} differs."]
    return [*first, *_balances(comparisons)]


def unended(samples: SweepSamples) -> str:
    """Say how many exchanges ended in the cell with the fewest, if these are below 95 %."""
    ended, missing = (samples.medians.get(f"exchanges{each}") for each in ("", "_missing"))
    if ended is None or missing is None:
        return ""
    with np.errstate(invalid="ignore"):
        shares = ended / (ended + missing)
    if np.isnan(shares).all() or (least := float(np.nanmin(shares))) >= ENOUGH:
        return ""
    worst = f"in the worst cell {share(least, 1)}; the others count as the longest."
    return f"Not all exchanges ended: {worst}"


def _claimed(sweep: SweepRecord, comparisons: _Family, samples: SweepSamples) -> str:
    """The verdicts on the experiment's own claim; empty if this sweep does not compare that."""
    headline = sweep.facts.headline
    if headline is None or headline.against is None or headline.direction not in _OPPOSITE:
        return ""
    labels = {condition.name: condition.label for condition in sweep.facts.conditions}
    sides = (headline.subject, headline.against)
    subject, against = (labels.get(each.condition, "") for each in sides)
    verdicts = [
        comparison.verdict
        if comparison.second == subject
        else _OPPOSITE.get(comparison.verdict, DifferenceVerdict.UNSHOWN)
        for comparison in comparisons
        if {comparison.first, comparison.second} == {subject, against}
    ]
    column = headline.metric.removeprefix("metric.")
    alike = not samples.has_many_flows and {column, sweep.metric.name} <= _GOODPUTS
    if not verdicts or not (alike or column == sweep.metric.name):
        return ""
    claim = f"{headline.what} is {headline.direction} with {subject} than with {against}."
    return f"{_counted(verdicts, headline.direction)}: {claim}"


def _counted(verdicts: Sequence[DifferenceVerdict], shown: str) -> str:
    """Such as "Shown in 20 of 28 cases, contradicted in 1, not shown in 7"."""
    said = {shown: "shown", DifferenceVerdict.UNSHOWN: "not shown"}
    words = Counter(said.get(verdict, "contradicted") for verdict in verdicts)
    (first, number), *others = words.most_common()
    if not others and number == 1:
        return first.capitalize()
    beginning = f"{first.capitalize()} in {number} of {len(verdicts)} cases"
    return ", ".join([beginning, *(f"{word} in {count}" for word, count in others)])
