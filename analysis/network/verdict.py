"""Verdict on the network of a run."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from analysis.measures.packets import TrialTraffic
from analysis.measures.trials import TrialNetwork
from analysis.network import findings, round_trips
from analysis.network.counts import UNASKED, congestion_marks, drawn_loss, lost_packets, queue_bound
from analysis.network.findings import CheckFinding, CheckOutcome, limits, real_time
from analysis.network.round_trips import sender_limits
from analysis.network.spacing import spacing
from analysis.records.run_directory import RunRecord


class Usability(StrEnum):
    """Verdict on a network, with its words in manifests and on pages."""

    GOOD = "good"
    CARE = "usable with care"
    UNUSABLE = "not to be used"


_CHANGING = (
    "The link changes while it is measured (spec.json, changes): tc's settings and counters were"
    " read at each change, and the captures were not compared."
)
ESSENTIAL = (findings.PROOFS, round_trips.KIND, UNASKED)
"""Without these no network is called good: that its conditions held, that it was as long as asked
for, and that it lost no packet by itself."""
_FORGIVEN = {round_trips.KIND: "no handshake had the network for itself"}
_NOTHING = "spec.json names no network, so no check is possible."


@dataclass(frozen=True)
class NetworkCheck:
    """A line of the table: the worst of all findings of one kind.

    `where` is the port, condition and seed of the worst, `measured_at` at how many places the
    check was made, `outcome` one of ok, not measured, with care, not as asked.
    """

    what: str
    asked: str
    measured: str
    where: str
    measured_at: int
    outcome: str


@dataclass(frozen=True)
class NetworkVerdict:
    """Usability of a network, with reasons and all checks."""

    verdict: Usability
    reasons: tuple[str, ...]
    checks: tuple[NetworkCheck, ...]

    @property
    def good(self) -> bool:
        return self.verdict == Usability.GOOD

    def as_data(self) -> dict[str, Any]:
        """As manifest.json has it."""
        return asdict(self)


def judge_network(run: RunRecord, known: Sequence[TrialTraffic | None] = ()) -> NetworkVerdict:
    """Return the verdict on the network of `run`, from its own files.

    `known` is the traffic of trials whose captures were read before.
    """
    topology = run.spec.topology.network()
    if topology is None or not topology.nodes or not run.trials:
        return NetworkVerdict(Usability.CARE, (_NOTHING,), ())
    networks = [TrialNetwork(run, trial, topology) for trial in run.trials]
    if run.spec.changes:
        return _of_changing(networks)
    read = {traffic.network.trial: traffic for traffic in known if traffic}
    findings = [
        finding
        for network in networks
        for finding in _of_trial(network, read.get(network.trial) or TrialTraffic(network))
    ]
    verdict = _verdict([*findings, *drawn_loss(networks)])
    return replace(verdict, reasons=(*verdict.reasons, *limits(networks[0])))


def _of_changing(networks: Sequence[TrialNetwork]) -> NetworkVerdict:
    """Compare a link that changes by the records of the run alone, before and after."""
    recorded = [finding for network in networks for finding in findings.recorded(network)]
    found = _verdict(recorded)
    if found.good:
        return replace(found, verdict=Usability.CARE, reasons=(_CHANGING,))
    return replace(found, reasons=(*found.reasons, _CHANGING))


def _of_trial(network: TrialNetwork, traffic: TrialTraffic) -> Iterator[CheckFinding]:
    """In the order of the table."""
    yield from findings.recorded(network)
    yield from round_trips.round_trip(network, traffic)
    yield from spacing(network, traffic)
    yield from queue_bound(network, traffic)
    yield from lost_packets(network, traffic)
    yield from congestion_marks(network, traffic)
    yield from sender_limits(network)
    yield from real_time(network)


def _verdict(findings: Sequence[CheckFinding]) -> NetworkVerdict:
    by_kind: dict[str, list[CheckFinding]] = {}
    for finding in findings:
        by_kind.setdefault(finding.kind, []).append(finding)
    worst = [_worst(same) for same in by_kind.values()]
    checks = tuple(_check(finding, by_kind[finding.kind]) for finding in worst)
    level = max((_weight(finding) for finding in worst), default=CheckOutcome.CARE)
    verdict = {CheckOutcome.CARE: Usability.CARE, CheckOutcome.UNUSABLE: Usability.UNUSABLE}.get(
        level, Usability.GOOD
    )
    return NetworkVerdict(verdict, tuple(_reasons(worst, by_kind)), checks)


def _worst(same: Sequence[CheckFinding]) -> CheckFinding:
    """Return the worst finding; a measured one counts first if all measured ones are good."""
    measured = [finding for finding in same if finding.outcome != CheckOutcome.UNMEASURED]
    return max(measured or same, key=lambda finding: (finding.outcome, finding.excess))


def _weight(finding: CheckFinding) -> CheckOutcome:
    """Grade an essential check that was not measured as with care; skip others."""
    if finding.outcome != CheckOutcome.UNMEASURED:
        return finding.outcome
    forgiven = _FORGIVEN.get(finding.kind) == finding.sentence
    return CheckOutcome.CARE if finding.kind in ESSENTIAL and not forgiven else CheckOutcome.GOOD


def _check(finding: CheckFinding, same: Sequence[CheckFinding]) -> NetworkCheck:
    count = sum(each.outcome != CheckOutcome.UNMEASURED for each in same)
    measured = finding.measured if count else f"not measured: {finding.sentence}"
    words = finding.kind, finding.asked, measured, finding.place
    return NetworkCheck(*words, count, finding.outcome.word)


def _reasons(
    worst: Sequence[CheckFinding], by_kind: dict[str, list[CheckFinding]]
) -> Iterator[str]:
    """Yield the faults, worst first; then checks without a measurement, essential first."""
    wrong = [finding for finding in worst if finding.outcome >= CheckOutcome.CARE]
    for finding in sorted(wrong, key=lambda finding: -finding.outcome):
        bad = [each for each in by_kind[finding.kind] if each.outcome >= CheckOutcome.CARE]
        more = f" So it is at {len(bad)} places; this is the worst." if len(bad) > 1 else ""
        yield finding.sentence + more
    missing = [finding for finding in worst if finding.outcome == CheckOutcome.UNMEASURED]
    if essential := [finding.kind for finding in missing if _weight(finding) > CheckOutcome.GOOD]:
        yield f"Missing measurements that a good network needs: {'; '.join(essential)}."
    if not wrong:
        yield "The network matched the specification."
    yield from _unmeasured(missing)


def _unmeasured(missing: Sequence[CheckFinding]) -> Iterator[str]:
    """Return the checks without a measurement, by reason."""
    reasons: dict[str, list[str]] = {}
    for finding in missing:
        reasons.setdefault(finding.sentence, []).append(finding.kind)
    for why, kinds in reasons.items():
        yield f"Not measured, because {why}: {'; '.join(kinds)}."
