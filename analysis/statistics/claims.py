"""Verdicts of repetitions on claims: shown, not shown, or contradicted.

All pages use the method of paired_tests. A comparison pairs the values of one seed; a single metric
is compared with a range by the interval of its median. Fewer repetitions than `FEWEST` neither show
nor contradict a claim.
"""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from math import inf, isfinite, isnan
from statistics import median
from typing import Any, Literal

from analysis.fmt import decimals, fixed, probability, signed, written
from analysis.statistics import paired_tests


class ClaimWord(StrEnum):
    """Verdict of repetitions on a claim."""

    SHOWN = "shown"
    NOT_SHOWN = "not shown"
    CONTRADICTED = "contradicted"


Samples = Sequence[float]  # A value for each seed, NaN for a seed without one
Trajectories = Sequence[Hashable] | None
"""All that was measured of each seed, by which copies are known."""
_NUMBERS = ("no", "one", "two", "three", "four", "five", "six")


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim with its verdict. `sentence` is for people; the rest is for programs.

    `estimate` is a ratio, or a difference in the measure's unit; `low` and `high` are the ends of
    its interval, None below `FEWEST` repetitions; `p` is None without a comparison.
    """

    question: str
    claim: str
    word: ClaimWord
    sentence: str
    scale: Literal["ratio", "difference"] = "ratio"
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    repetitions: int = 0

    @property
    def line(self) -> str:
        """The first line of a page."""
        return f"{self.word.capitalize()}: {self.sentence}"

    @property
    def data(self) -> dict[str, Any]:
        """For programs, with null for an infinite estimate or end, of which JSON has none."""
        endless = [x for x, y in asdict(self).items() if isinstance(y, float) and not isfinite(y)]
        return {**asdict(self), **dict.fromkeys(endless)}


def withheld(verdict: ClaimVerdict, reason: str) -> ClaimVerdict:
    """Return the verdict of a run whose figures must not be used: not shown, for this reason."""
    return replace(verdict, word=ClaimWord.NOT_SHOWN, sentence=reason)


@dataclass(frozen=True)
class ComparedSamples:
    """Two samples of `what`, a value for each seed, and whose they are ("with SACK on")."""

    what: str
    unit: str
    names: tuple[str, str]
    values: tuple[Samples, Samples]
    trajectories: Trajectories = None

    @property
    def paired(self) -> paired_tests.Paired | None:
        """The first compared with the second."""
        return paired_tests.paired(self.values[1], self.values[0], self.trajectories)

    def is_of_first(self, word: str) -> str:
        """Such as "the throughput is larger with SACK on than with SACK off"."""
        return f"{self.what} is {word} {self.names[0]} than {self.names[1]}"


def judge_direction(
    question: str, compared: ComparedSamples, direction: Literal["larger", "smaller"]
) -> ClaimVerdict:
    """The verdict on the claim that the first sample is larger, or smaller, than the second."""
    claim, pair = compared.is_of_first(direction), compared.paired
    if pair is None or pair.low is None:
        return _undecided(question, claim, pair, compared.unit)
    evidence = _evidence(pair, compared.unit)
    seen = "larger" if pair.estimate > pair.neutral else "smaller"
    word = ClaimWord.SHOWN if seen == direction else ClaimWord.CONTRADICTED
    sentence = f"{compared.is_of_first(seen)}: {evidence}."
    if not pair.shows_difference:
        word = ClaimWord.NOT_SHOWN
        sentence = f"it is open whether {claim}: {evidence}. No difference would fit that too."
    return _decided(question, claim, word, sentence, pair)


def judge_equal(question: str, compared: ComparedSamples, margin: float) -> ClaimVerdict:
    """The verdict on the claim that the samples are the same but for `margin`, a share of 1."""
    alike = f"the same {compared.names[0]} and {compared.names[1]}, within {100 * margin:g} %"
    claim, pair = f"{compared.what} is {alike}", compared.paired
    if pair is None or pair.low is None or pair.high is None:
        return _undecided(question, claim, pair, compared.unit)
    least, most = 1 / (1 + margin), 1 + margin
    if pair.scale == "difference":
        most = margin * median(abs(value) for value in compared.values[1] if not isnan(value))
        least = -most
    word = _lies(pair.low, pair.high, least, most)
    beginnings = {
        ClaimWord.SHOWN: claim,
        ClaimWord.NOT_SHOWN: f"it is open whether {claim}",
        ClaimWord.CONTRADICTED: f"{compared.what} is not {alike}",
    }
    sentence = f"{beginnings[word]}: {_evidence(pair, compared.unit)}."
    return _decided(question, claim, word, sentence, pair)


@dataclass(frozen=True)
class ClaimedRange:
    """From `low` to `high` times what `expectation` names, such as "what the link alone needs".

    There is no end if None. An empty `expectation` means the measure itself, in `unit`.
    """

    low: float | None
    high: float | None
    expectation: str = ""
    unit: str = ""

    @property
    def ends(self) -> str:
        """The range after a sentence that has named the expectation: "at least 1.05 times"."""
        ends = [written(end) for end in (self.low, self.high) if end is not None]
        beginning = "at least " if self.high is None else "at most " if self.low is None else ""
        unit = "times" if self.expectation else self.unit
        return f"{beginning}{' to '.join(ends)} {unit}".strip()

    def of(self, figure: str) -> str:
        """A figure as a multiple of the expectation, or in the unit."""
        unit = f"times {self.expectation}" if self.expectation else self.unit
        return f"{figure} {unit}".strip()


def judge_within(
    question: str,
    what: str,
    values: Samples,
    claimed: ClaimedRange,
    trajectories: Trajectories = None,
) -> ClaimVerdict:
    """The verdict on a claim that `values` lie in a range, perhaps of measured by expected."""
    claim = f"{what} is {claimed.ends} {claimed.expectation}".rstrip()
    measured = [value for value in values if not isnan(value)]
    around = paired_tests.median_interval(measured)
    if around is None:
        return _undecided(question, claim, None, count=len(measured))
    least = -inf if claimed.low is None else claimed.low
    most = inf if claimed.high is None else claimed.high
    ends: tuple[float | None, float | None] = (around.low, around.high)
    figures = (around.low, around.median, around.high)
    low, middle, high = map(signed, figures)
    if around.low < around.high:
        places = decimals(around.low, around.high)
        low, middle, high = (fixed(figure, places) for figure in figures)
    found = f"median of {around.count} repetitions, 95 % interval {low} to {high}"
    if paired_tests.are_copies(trajectories or paired_tests.seen_of(measured)):
        found, ends = f"all {around.count} repetitions, {paired_tests.COPIES}", (None, None)
    return ClaimVerdict(
        question,
        claim,
        _lies(around.low, around.high, least, most),
        f"{what} is {claimed.of(middle)} ({found}; claimed: {claimed.ends}).",
        "ratio" if claimed.expectation else "difference",
        *(around.median, *ends, None, around.count),
    )


def _lies(low: float, high: float, least: float, most: float) -> ClaimWord:
    """The verdict of an interval on the claim that the true value is from `least` to `most`."""
    if least <= low and high <= most:
        return ClaimWord.SHOWN
    return ClaimWord.CONTRADICTED if high < least or low > most else ClaimWord.NOT_SHOWN


def _undecided(
    question: str, claim: str, pair: paired_tests.Paired | None, unit: str = "", count: int = 0
) -> ClaimVerdict:
    """Not shown: there are too few repetitions, or copies of one, which are no sample."""
    count = pair.count if pair else count
    several = f"{_NUMBERS[min(count, paired_tests.FEWEST)]} repetition{'' if count == 1 else 's'}"
    sentence = f"{several} cannot show whether {claim}; {_NUMBERS[paired_tests.FEWEST]} can."
    if not count:
        sentence = "no repetition has the figures that the claim is about."
    if pair and pair.copies:
        figure = f"{_estimate(pair, unit)} in all {count} repetitions"
        sentence = f"the seeds cannot show whether {claim}: {figure}, {paired_tests.COPIES}."
    verdict = ClaimVerdict(question, claim, ClaimWord.NOT_SHOWN, sentence, repetitions=count)
    return replace(verdict, scale=pair.scale, estimate=pair.estimate) if pair else verdict


def _decided(
    question: str, claim: str, word: ClaimWord, sentence: str, pair: paired_tests.Paired
) -> ClaimVerdict:
    figures = (pair.estimate, pair.low, pair.high, pair.p, pair.count)
    return ClaimVerdict(question, claim, word, sentence, pair.scale, *figures)


def _estimate(pair: paired_tests.Paired, unit: str) -> str:
    return paired_tests.estimate(pair, unit) + " as large" * (pair.scale == "ratio")


def _evidence(pair: paired_tests.Paired, unit: str) -> str:
    """Such as "1.3 times as large (10 repetitions, 95 % interval 1.1 to 1.5, p = 0.02)"."""
    sample = f"{pair.count} repetitions, {paired_tests.interval(pair)}, p {probability(pair.p)}"
    return f"{_estimate(pair, unit)} ({sample})"
