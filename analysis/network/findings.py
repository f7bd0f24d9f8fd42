"""Findings of checks, checks of recorded facts, and limits of virtual time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from msgspec import Struct, field

from analysis.measures.evidence import capture_drops
from analysis.measures.links import FRAME_HEADER, channels
from analysis.measures.trial_network import TrialNetwork
from analysis.records.json_reader import Problems, parse
from analysis.records.output import has_died


class CheckOutcome(IntEnum):
    """Outcome of a check; a worse one is greater."""

    GOOD = 0
    UNMEASURED = 1
    CARE = 2
    UNUSABLE = 3

    @property
    def word(self) -> str:
        return ("ok", "not measured", "with care", "not as asked")[self]


@dataclass(frozen=True)
class CheckFinding:
    """Result of one check at one place.

    `kind` is the check and `place` what it was looked for at, such as a port under a condition.
    `excess` is how far the measured value is from the asked one, in tolerances; it orders findings
    with the same outcome. `sentence` says what it means for who uses the run's figures, if it is
    not good.
    """

    kind: str
    place: str
    asked: str
    measured: str
    outcome: CheckOutcome
    sentence: str = ""
    excess: float = 0.0


def unmeasured(kind: str, where: str, asked: str, why: str) -> CheckFinding:
    """A check that could not be made; `why` is a sentence's end, such as "it has no captures"."""
    return CheckFinding(kind, where, asked, "not measured", CheckOutcome.UNMEASURED, why)


def outcome_of(excess: float, far: float) -> CheckOutcome:
    """Good up to one tolerance, with care up to `far` tolerances, unusable beyond."""
    if excess <= 1:
        return CheckOutcome.GOOD
    return CheckOutcome.CARE if excess <= far else CheckOutcome.UNUSABLE


def percent(share: float) -> str:
    return f"{100 * share:.3g} %"


def duration(nanoseconds: float) -> str:
    """Return a time as people write it, to three or four digits: 12.11 us, 80.59 ms, 2.5 s."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if abs(nanoseconds) >= size:
            return f"{nanoseconds / size:.4g} {unit}"
    return f"{nanoseconds:.0f} ns"


KIND = "Timers and processors"
_FILE = "realtime.json"
LATE = 1_000_000
"""Nanoseconds: queues and delay lines are made of timers, and 1 ms is the shortest usual delay."""
WAITED = 0.05
"""Share of the run's time; beyond it, programs and not the network may have set the rate."""
FAR = 10.0  # tolerances


class LateTimers(Struct, frozen=True):
    """Seconds by which timers fired late."""

    one_in_a_hundred: float = 0.0


class RealTimeFile(Struct, frozen=True):
    """realtime.json of a seed (docs/reference/run-directory.md)."""

    seconds: float | None = None
    waited_seconds: float = 0.0
    timer_late_seconds: LateTimers = field(default_factory=LateTimers)


def lateness(network: TrialNetwork) -> int:
    """Nanoseconds by which one timer in a hundred was late or later; 0 in virtual time."""
    return max(0, round(1e9 * _facts(network).timer_late_seconds.one_in_a_hundred))


def _facts(network: TrialNetwork) -> RealTimeFile:
    if not network.real_time:
        return RealTimeFile()
    return parse(RealTimeFile, network.trial.folder.parent / _FILE)[0]


def real_time(network: TrialNetwork) -> Iterator[CheckFinding]:
    """Yield a finding on late timers and waiting programs, if the run was in real time."""
    if not network.real_time:
        return
    facts, place = _facts(network), f"seed {network.trial.seed}"
    if not facts.seconds:
        yield unmeasured(KIND, place, "on time", f"it has no {_FILE}")
        return
    late, waited = lateness(network), facts.waited_seconds / facts.seconds
    excess = max(late / LATE, waited / WAITED)
    measured = f"1 in 100 later than {duration(late)}; {percent(waited)} of the time waiting"
    sentence = (
        f"One timer in a hundred was {duration(late)} late or later, and programs waited"
        f" {percent(waited)} of the time for a processor: packets left when the computer had"
        " time, not when the network would have let them."
    )
    asked = f"1 in 100 later than {duration(LATE)} at most; {percent(WAITED)}"
    yield CheckFinding(KIND, place, asked, measured, outcome_of(excess, FAR), sentence, excess)


PROOFS, SETTINGS, CAPTURES = "Conditions, proved", "Settings, read back", "Captures without gaps"
WARNINGS = "Transfers, to their end"


def recorded(network: TrialNetwork) -> list[CheckFinding]:
    return [_proofs(network), _settings(network), _warnings(network), *_captures(network)]


def _proofs(network: TrialNetwork) -> CheckFinding:
    proofs = network.trial.files.evidence(Problems()).proofs
    if not proofs:
        return unmeasured(PROOFS, network.label, "all", "it has no evidence.json with proofs")
    failed = [
        f"{proof.claim} ({'; '.join(proof.observed)})" if proof.observed else proof.claim
        for proof in proofs
        if proof.held is not True
    ]
    sentence = f"It is not proved that {'; '.join(failed[:2])}."
    measured = f"{len(proofs) - len(failed)} of {len(proofs)}"
    return _all(PROOFS, network.label, measured, failed, CheckOutcome.UNUSABLE, sentence)


def _settings(network: TrialNetwork) -> CheckFinding:
    settings = network.environment.asked_and_found
    if not settings:
        return unmeasured(SETTINGS, network.label, "all", "it has no environment.json")
    wrong = [
        f"{setting.interface}: {setting.field} is {setting.found} instead of {setting.asked}"
        for setting in settings
        if not setting.agrees
    ]
    sentence = f"The kernel did not have what was asked for ({'; '.join(wrong[:2])})."
    measured = f"{len(settings) - len(wrong)} of {len(settings)}, offloads among them"
    return _all(SETTINGS, network.label, measured, wrong, CheckOutcome.UNUSABLE, sentence)


def _warnings(network: TrialNetwork) -> CheckFinding:
    """Check for output cut off, and for flows without a rate of their whole duration."""
    printed, flows = network.trial.files.printed, network.run.flows
    dead = [x.name for x in flows if not x.amount and has_died(printed(x.name, "client"))]
    if dead:
        sentence = f"{network.label}: the connection of {dead[0]} failed before its duration ended."
        measured = f"{len(dead)} connections failed"
        return _all(WARNINGS, network.label, measured, dead, CheckOutcome.UNUSABLE, sentence)
    warnings = network.trial.files.evidence(Problems()).warnings
    measured = f"{len(warnings)} warnings" if warnings else "all"
    sentence = f"{network.label}: {' '.join(warnings[:2])}"
    return _all(WARNINGS, network.label, measured, warnings, CheckOutcome.CARE, sentence)


def _captures(network: TrialNetwork) -> list[CheckFinding]:
    if not network.run.captures:
        return []
    drops = capture_drops(network.run, network.trial)
    if len(drops) < len(network.run.captures):
        gone = "tcpdump's own count is gone"
        return [unmeasured(CAPTURES, network.label, "no packet lost", gone)]
    gaps = [f"{lost} on {interface}" for interface, lost in drops.items() if lost != "0"]
    sentence = f"tcpdump missed packets ({', '.join(gaps)}): what it missed looks lost."
    measured = ", ".join(gaps) or "no packet lost"
    return [_all(CAPTURES, network.label, measured, gaps, CheckOutcome.CARE, sentence)]


def _all(
    kind: str, where: str, measured: str, wrong: Sequence[str], worst: CheckOutcome, sentence: str
) -> CheckFinding:
    outcome = worst if wrong else CheckOutcome.GOOD
    return CheckFinding(kind, where, "all", measured, outcome, sentence, float(len(wrong)))


_FAST = 900_000_000
"""Bits a second: links of 1 Gbit/s and more, also less what tc does not count of a frame."""
_SHORT = 100_000  # nanoseconds; real hosts add tens of microseconds to a round trip
_SHORT_FRAME = 66  # an ACK
_PAGE = "docs/concepts/limits.md"


def limits(network: TrialNetwork) -> Iterator[str]:
    """Yield a sentence for a fast link, and for a short round trip; none in real time."""
    if network.real_time:
        return
    every = channels((*network.ports, *network.host_ports))
    fastest = max((channel.bandwidth for channel in every), default=None)
    if fastest and fastest.base >= _FAST:
        yield (
            f"At {fastest}, processors, GRO and interrupts of real hosts shape traffic too, and"
            f" virtual time has none of them ({_PAGE})."
        )
    frame = network.topology.mtu.base + FRAME_HEADER
    ways = {(flow.sender, flow.receiver) for flow in network.run.flows}
    trips = [
        network.lone(way, frame) + network.lone(way[::-1], _SHORT_FRAME)
        for way in ways
        if {way, way[::-1]} <= {*network.directions}
    ]
    shortest = min(filter(None, trips), default=_SHORT)
    if shortest < _SHORT:
        yield (
            f"To a round trip of {duration(shortest)} real hosts add as much themselves, and"
            f" virtual time adds none of that ({_PAGE})."
        )
