"""What a run's page, its terminal and claim.json begin with: the verdict on the claim."""

from __future__ import annotations

import json

from analysis.network.network_verdict import UNUSABLE, NetworkVerdict
from analysis.records.evidence import Evidence
from analysis.records.run_directory import RunRecord
from analysis.reporting.claim_of_run import enough
from analysis.reporting.repeat_command import repeat_command
from analysis.statistics.claims import ClaimVerdict, withheld
from analysis.statistics.paired_tests import FEWEST

UNDECLARED = (
    "No claim is declared, so this page judges none. A spec declares one as its `headline`:"
    " docs/own-studies.md, *A claim that is judged*."
)


def title(run: RunRecord, verdict: ClaimVerdict | None) -> str:
    """The question that the run is about."""
    headline = run.spec.headline
    asked = headline.question if headline else verdict.question if verdict else ""
    return asked or f"What happened in {run.experiment}?"


def verdict_on_claim(
    verdict: ClaimVerdict | None, run: RunRecord, evidence: Evidence, network: NetworkVerdict
) -> ClaimVerdict | None:
    """The verdict, withheld if the run is not whole, not proved, or its network not as asked."""
    if verdict is None:
        return None
    if run.status != "complete" or run.failures:
        return withheld(verdict, f"this run is marked {run.status}, and its figures show nothing.")
    if not evidence.held:
        return withheld(verdict, "that the conditions held is not proved, so nothing is.")
    if network.verdict == UNUSABLE:
        return withheld(verdict, "the network was not what was asked for, so nothing is shown.")
    return verdict


def first_lines(run: RunRecord, verdict: ClaimVerdict | None) -> list[str]:
    """The verdict, and the command for more repetitions if they are too few for one."""
    if verdict is None:
        return [UNDECLARED]
    sound = run.status == "complete" and not run.failures
    if sound and verdict.word == "not shown" and verdict.repetitions < max(FEWEST, enough(run)):
        return [verdict.line, f"Enough repetitions: {repeat_command(run, enough(run))}"]
    return [verdict.line]


def claim_file(run: RunRecord, verdict: ClaimVerdict | None) -> bytes:
    """claim.json: the verdict for programs; `verdict` is null if no claim is declared."""
    data = verdict.data if verdict else {"word": None, "sentence": UNDECLARED}
    metric = run.spec.headline.metric if run.spec.headline else None
    content = {"format": 1, "experiment": run.experiment, "metric": metric, **data}
    return (json.dumps(content, indent=1) + "\n").encode()
