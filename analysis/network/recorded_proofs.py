"""What the run itself recorded: proofs of its conditions, settings read back, gaps in captures."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.network.asked_network import TrialNetwork
from analysis.network.findings import CheckFinding, CheckOutcome, unmeasured
from analysis.records.evidence import capture_drops, settings_of
from analysis.records.problems import Problems

PROOFS, SETTINGS, CAPTURES = "Conditions, proved", "Settings, read back", "Captures without gaps"
WARNINGS = "Transfers, to their end"


def recorded(network: TrialNetwork) -> list[CheckFinding]:
    """Four findings about a trial, fewer if it captures nothing."""
    return [_proofs(network), _settings(network), _warnings(network), *_captures(network)]


def _proofs(network: TrialNetwork) -> CheckFinding:
    proofs = network.trial.files.evidence(Problems()).proofs
    if not proofs:
        return unmeasured(PROOFS, network.label, "all", "it has no evidence.json with proofs")
    failed = [proof.claim for proof in proofs if proof.held is not True]
    sentence = f"It is not proved that {'; '.join(failed[:2])}."
    measured = f"{len(proofs) - len(failed)} of {len(proofs)}"
    return _all(PROOFS, network.label, measured, failed, CheckOutcome.UNUSABLE, sentence)


def _settings(network: TrialNetwork) -> CheckFinding:
    settings = settings_of(network.environment)
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
    """What was cut off while the condition was measured."""
    warnings = network.trial.files.evidence(Problems()).warnings
    measured = f"{len(warnings)} warnings" if warnings else "all"
    sentence = f"{network.label}: {' '.join(warnings[:2])}"
    return _all(WARNINGS, network.label, measured, warnings, CheckOutcome.CARE, sentence)


def _captures(network: TrialNetwork) -> list[CheckFinding]:
    if not network.run.captures:
        return []
    drops = capture_drops(network.run, network.trial)
    if len(drops) < len(network.run.captures):
        return [
            unmeasured(CAPTURES, network.label, "no packet lost", "tcpdump's own count is gone")
        ]
    gaps = [f"{lost} on {interface}" for interface, lost in drops.items() if lost != "0"]
    sentence = f"tcpdump missed packets ({', '.join(gaps)}): what it missed looks lost."
    measured = ", ".join(gaps) or "no packet lost"
    finding = _all(CAPTURES, network.label, measured, gaps, CheckOutcome.CARE, sentence)
    return [finding]


def _all(
    kind: str, place: str, measured: str, wrong: Sequence[str], worst: CheckOutcome, sentence: str
) -> CheckFinding:
    outcome = worst if wrong else CheckOutcome.GOOD
    return CheckFinding(kind, place, "all", measured, outcome, sentence, float(len(wrong)))
