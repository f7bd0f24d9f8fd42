"""The first line of a sweep's page: in how many of its comparisons what is claimed is shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from analysis.measures.sweep_folder import SweepRecord
from analysis.statistics.comparisons import LevelComparison, overall, too_few
from analysis.statistics.metric_wording import called, verb
from analysis.statistics.paired_wording import UNSHOWN, Verdict
from analysis.statistics.sweep_samples import SweepSamples

_GOODPUTS = {"goodput_kbit_s", "total_goodput_kbit_s"}
"""The same for one flow."""
_OPPOSITE: dict[str, Verdict] = {"larger": "smaller", "smaller": "larger"}


def question(sweep: SweepRecord) -> str:
    """What the sweep asks: the experiment's own question if nothing but its conditions varies."""
    if sweep.compare is None:
        return f"How large {verb(sweep.metric)} {called(sweep.metric)}?"
    if sweep.facts.headline and len(sweep.factors) == 1:
        return sweep.facts.headline.question
    return f"Does the {sweep.factors[sweep.compare].name} change {called(sweep.metric)}?"


def first_lines(
    sweep: SweepRecord, comparisons: Sequence[LevelComparison], samples: SweepSamples
) -> list[str]:
    """The verdict, and what belongs to it."""
    lines = overall(comparisons, sweep, samples)
    if not comparisons or samples.is_empty:
        return lines
    if too_few(comparisons):
        return [f"Not shown: {line}" if line in too_few(comparisons) else line for line in lines]
    shown = sum(comparison.verdict != UNSHOWN for comparison in comparisons)
    if claimed := _claimed(sweep, comparisons, samples):
        return [claimed, *lines]
    first = "Shown" if shown else "Not shown"
    if len(comparisons) > 1:
        first += f" in {shown} of {len(comparisons)} comparisons" if shown else " in any comparison"
        return [f"{first}: that {called(sweep.metric)} differs.", *lines[1:]]
    return [f"{first}: {lines[0]}", *lines[1:]]


def _claimed(
    sweep: SweepRecord, comparisons: Sequence[LevelComparison], samples: SweepSamples
) -> str:
    """The verdicts on the experiment's own claim; empty if this sweep does not compare that."""
    headline = sweep.facts.headline
    if headline is None or headline.against is None or headline.direction not in _OPPOSITE:
        return ""
    labels = {condition.name: condition.label for condition in sweep.facts.conditions}
    subject, against = (
        labels.get(each.condition, "") for each in (headline.subject, headline.against)
    )
    verdicts = [
        comparison.verdict
        if comparison.second == subject
        else _OPPOSITE.get(comparison.verdict, UNSHOWN)
        for comparison in comparisons
        if {comparison.first, comparison.second} == {subject, against}
    ]
    if not verdicts or not _is_metric(sweep, headline.metric, samples):
        return ""
    claim = f"{headline.what} is {headline.direction} with {subject} than with {against}."
    return f"{_counted(verdicts, headline.direction)}: {claim}"


def _counted(verdicts: Sequence[Verdict], shown: str) -> str:
    """Such as "Shown in 20 of 28 cases, contradicted in 1, not shown in 7"."""
    words = Counter(
        "shown" if verdict == shown else "not shown" if verdict == UNSHOWN else "contradicted"
        for verdict in verdicts
    )
    (first, number), *others = words.most_common()
    if not others and number == 1:
        return first.capitalize()
    beginning = f"{first.capitalize()} in {number} of {len(verdicts)} cases"
    return ", ".join([beginning, *(f"{word} in {count}" for word, count in others)])


def _is_metric(sweep: SweepRecord, name: str, samples: SweepSamples) -> bool:
    column = name.removeprefix("metric.")
    alike = not samples.has_many_flows and {column, sweep.metric.name} <= _GOODPUTS
    return column == sweep.metric.name or alike
