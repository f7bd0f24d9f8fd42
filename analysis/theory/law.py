"""A law of the literature, the points of a run next to it, their graph, and the verdict.

Values of a run that laws need: its path by its parameters, and the samples of its senders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from analysis.measures.results import Measured, RunResults, written
from analysis.records.output import SocketSample
from analysis.statistics.claims import ClaimVerdict, ClaimWord
from analysis.statistics.paired_tests import FEWEST
from analysis.theory.formulas import FilledPath
from topologies.units import Duration, Packets, Rate

MOST_OUTSIDE = 0.05
"""The share of points that may lie outside the tolerance of a law that is shown."""


@dataclass(frozen=True)
class Law:
    """A claim of the literature, its source, and the tolerance for a run.

    `what` is the measured quantity in a sentence, such as "the rate". `tolerance` is a share of
    the law's value; `reason` says in a sentence why it is that wide.
    """

    question: str
    what: str
    formula: str
    source: str
    tolerance: float
    reason: str

    @property
    def allowed(self) -> str:
        """The tolerance in words: `± 5 %`."""
        return f"\N{PLUS-MINUS SIGN} {written(100 * self.tolerance)} %"

    def admits(self, point: LawPoint) -> bool:
        """Return True if the measured value is within the tolerance of the law's."""
        return abs(point.ratio - 1) <= self.tolerance


@dataclass(frozen=True)
class LawPoint:
    """The measured value at `x` of the law's graph and the law's value, in one unit."""

    name: str
    x: float
    measured: float
    theory: float

    @property
    def ratio(self) -> float:
        return self.measured / self.theory


def verdict_of(law: Law, points: Sequence[LawPoint]) -> ClaimVerdict:
    """Return the verdict of a run on the law; its points are the repetitions, so six are needed.

    Shown if all points but one in twenty are within the tolerance, contradicted if most are not.
    """
    claim = f"{law.what} is what the law gives, {law.allowed}"
    if len(points) < FEWEST:
        several = "one repetition" if len(points) == 1 else f"{len(points)} repetitions"
        sentence = f"{several} cannot show whether {claim}; {FEWEST} can."
        return ClaimVerdict(
            law.question, claim, ClaimWord.NOT_SHOWN, sentence, repetitions=len(points)
        )
    outside = sum(not law.admits(point) for point in points)
    word = _word(outside / len(points))
    beginnings = {
        ClaimWord.SHOWN: claim,
        ClaimWord.NOT_SHOWN: f"it is open whether {claim}",
        ClaimWord.CONTRADICTED: f"{law.what} is not what the law gives, {law.allowed}",
    }
    sentence = f"{beginnings[word]}: {_evidence(points, outside)}."
    middle = median(point.ratio for point in points)
    return ClaimVerdict(
        law.question, claim, word, sentence, estimate=middle, repetitions=len(points)
    )


def _word(outside: float) -> ClaimWord:
    if outside <= MOST_OUTSIDE:
        return ClaimWord.SHOWN
    return ClaimWord.CONTRADICTED if outside > 1 / 2 else ClaimWord.NOT_SHOWN


def _evidence(points: Sequence[LawPoint], outside: int) -> str:
    beyond = f", of which {outside} lie outside" if outside else ""
    return f"measured / law is {ratios(points)} over {len(points)} points{beyond}"


def ratios(points: Sequence[LawPoint]) -> str:
    """Measured / law, the median and the range: `1.01 (0.98 to 1.03)`."""
    values = [point.ratio for point in points]
    least, most = f"{min(values):.3f}", f"{max(values):.3f}"
    return f"{median(values):.3f}" + (f" ({least} to {most})" if least != most else "")


@dataclass(frozen=True)
class LawLine:
    """Values of a formula, drawn as a line; an `other` one, which is not claimed, is dotted."""

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


PAYLOAD = 1448
"""Bytes of data in a full segment: 1500 of IP less 20, 20 of TCP and 12 of its time stamps."""
FRAME, ACK_FRAME = 1514, 66
"""Bytes that a full segment and a lone ACK take on the link: IP's and 14 of Ethernet."""


def path_of(results: RunResults) -> FilledPath:
    """The path that the run's parameters bw, delay and queue ask for, in full segments.

    The round trip without a queue is two delays, a segment and its ACK on the line. Raises
    UsageError if the run has no such parameter.
    """
    given = results.run.parameters
    rate = Rate.parse(given.get("bw", "")).base
    delay = Duration.parse(given.get("delay", "")).seconds
    queue = Packets.parse(given.get("queue", "")).base
    trip = 2 * delay + 8 * (FRAME + ACK_FRAME) / rate
    return FilledPath(trip, 8 * FRAME / rate, queue)


def payload_rate(path: FilledPath) -> float:
    """The bytes of data a second that a full link carries."""
    return PAYLOAD / path.serialization


def samples_of(measured: Measured, flow: int = 0) -> Sequence[SocketSample]:
    """The samples of a flow's sender, once its first round trip is known; empty if none is kept.

    Raises ValueError for a broken file.
    """
    of_flow = measured.flows[flow]
    kept = of_flow.samples
    if not kept:
        of_host = measured.trial.files.samples(of_flow.flow.sender)
        kept = tuple(of_host.get(str(of_flow.flow.port), ()))
    return [sample for sample in kept if sample.rtt > 0]


def loss_times(samples: Sequence[SocketSample], apart: float) -> list[float]:
    """Return the times at which the sender began a retransmission, in the clock of the samples.

    Retransmissions that follow each other within `apart` seconds belong to one loss.
    """
    times = [
        after.time
        for before, after in pairwise(samples)
        if after.segments_retrans > before.segments_retrans
    ]
    return [time for at, time in enumerate(times) if not at or time - times[at - 1] > apart]
