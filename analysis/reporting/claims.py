"""Verdict on the claim of a run, and the command for more repetitions."""

import shlex
from math import nan
from typing import Literal

from msgspec.structs import replace

from analysis.measures.expressions import parse
from analysis.measures.metrics import Metric, UnknownMetric, is_metric, metric
from analysis.measures.results import Measured, RunResults
from analysis.records.json_reader import printable
from analysis.records.run_directory import RunRecord
from analysis.records.spec_file import HeadlineEntry, RunCondition, SubjectEntry
from analysis.statistics.claims import (
    ClaimedRange,
    ClaimVerdict,
    ClaimWord,
    ComparedSamples,
    judge_direction,
    judge_equal,
    judge_within,
)
from analysis.statistics.paired_tests import FEWEST
from topologies.errors import UsageError
from topologies.units import Share


def repeat_command(run: RunRecord, repeat: int | None = None) -> str:
    """Return the shell command for the same parameters, each an option, settings and first seed.

    `repeat` times, or as often as in `run` if None.
    """
    words = ["./tcplab", "run", run.experiment]
    for name, value in run.parameters.items():
        words += [f"--{name.replace('_', '-')}", value] if value else []
    for setting in run.spec.settings:
        words += ["--set", setting]
    words += ["--seed", str(run.seeds[0])] if run.seeds else []
    count = len(run.seeds) if repeat is None else repeat
    return shlex.join([*words, "--repeat", str(max(1, count))])


_OF_FLOW = "metric."


def claim_of_run(results: RunResults) -> ClaimVerdict | None:
    """Return the verdict, NOT_SHOWN for a claim that cannot be judged; None without a claim."""
    headline = results.run.spec.headline
    if headline is None:
        return None
    try:
        return _judged(results, _timed(headline), _metric(headline, headline.subject))
    except (UnknownMetric, UsageError) as error:
        return ClaimVerdict(
            headline.question, headline.question, ClaimWord.NOT_SHOWN, printable(error)
        )


def claimed_samples(results: RunResults, headline: HeadlineEntry) -> list[float]:
    """Return the claim's metric of its subject for each seed, NaN for a seed without one."""
    return _samples(results, headline, headline.subject)


def _metric(headline: HeadlineEntry, subject: SubjectEntry) -> Metric:
    """Return the metric of a subject. Raises UnknownMetric, UsageError."""
    if is_metric(headline.metric):
        return metric(headline.metric)
    return parse(headline.metric).of_flow(subject.flow).metric


def _timed(headline: HeadlineEntry) -> HeadlineEntry:
    """Return the claim with the window of its metric in its sentence."""
    when = parse(headline.metric).when
    return replace(headline, what=f"{headline.what} {when}") if when else headline


def _judged(results: RunResults, headline: HeadlineEntry, key: Metric) -> ClaimVerdict:
    """Return the verdict by the claim's direction. Raises UsageError if that is none."""
    if headline.direction == "within":
        return _within(results, headline, key)
    if headline.against is None or headline.direction not in ("larger", "smaller", "equal"):
        raise UsageError("The claim of spec.json has no comparison.", "Run the experiment again.")
    subjects = (headline.subject, headline.against)
    first, second = (_name(results, subject, subjects) for subject in subjects)
    of_first, of_second = (_samples(results, headline, subject) for subject in subjects)
    compared = ComparedSamples(headline.what, key.unit, (first, second), (of_first, of_second))
    if headline.direction == "equal":
        return judge_equal(headline.question, compared, Share.parse(headline.margin).fraction)
    direction: Literal["larger", "smaller"] = (
        "larger" if headline.direction == "larger" else "smaller"
    )
    return judge_direction(headline.question, compared, direction)


def oriented(
    results: RunResults, first: RunCondition, second: RunCondition
) -> tuple[RunCondition, RunCondition]:
    """Return two conditions in the order of all comparisons of a page: the second by the first.

    The subject of the claim comes second, so that no page has a factor and its inverse.
    """
    headline = results.run.spec.headline
    is_subject = headline and headline.against and headline.subject.condition == first.name
    return (second, first) if is_subject else (first, second)


def enough(run: RunRecord) -> int:
    """Return the repetitions that the reader is advised to make."""
    headline = run.spec.headline
    return max(FEWEST, headline.repetitions if headline else FEWEST)


def _within(results: RunResults, headline: HeadlineEntry, key: Metric) -> ClaimVerdict:
    expected = headline.expected if headline.expected > 0 else 1.0
    values = [value / expected for value in _samples(results, headline, headline.subject)]
    claimed = ClaimedRange(headline.low, headline.high, headline.expectation, key.unit)
    return judge_within(headline.question, headline.what, values, claimed)


def _name(
    results: RunResults, subject: SubjectEntry, subjects: tuple[SubjectEntry, SubjectEntry]
) -> str:
    """Name the side of a value: only what distinguishes the two."""
    labels = {condition.name: condition.label for condition in results.run.conditions}
    label = labels.get(subject.condition, subject.condition)
    if not subject.flow:
        return f"with {label}"
    if subjects[0].condition == subjects[1].condition:
        return f"of the flow {subject.flow}"
    return f"of the flow {subject.flow} with {label}"


def _samples(results: RunResults, headline: HeadlineEntry, subject: SubjectEntry) -> list[float]:
    """Return a value for each seed, NaN for a seed without one."""
    key = _metric(headline, subject)
    trials = {
        measured.trial.seed: measured
        for measured in results.measured
        if measured.trial.condition.name == subject.condition
    }
    return [_value(trials.get(seed), key, subject.flow) for seed in results.run.seeds]


def _value(measured: Measured | None, key: Metric, flow: str) -> float:
    if measured is None:
        return nan
    if not flow or not key.column:
        value = measured.value(key)
        return nan if value is None else value
    column = key.name.removeprefix(_OF_FLOW)
    values = (each.row.get(column) for each in measured.flows if each.flow.name == flow)
    value = next((float(value) for value in values if isinstance(value, int | float)), None)
    return nan if value is None else value
