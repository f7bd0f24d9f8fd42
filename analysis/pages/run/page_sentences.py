"""The sentences of a run's page that hold for some runs only: each is made from the run it is on.

A template has no such sentence of its own; tests/analysis/test_sentences.py holds both.
"""

from __future__ import annotations

from analysis.measures.results import RunResults
from analysis.records.evidence import Evidence
from analysis.records.run_directory import RunRecord


def asked(run: RunRecord) -> str:
    """Which conditions were measured, how often and with which seeds."""
    labels = ", ".join(condition.label for condition in run.conditions)
    count = len(run.seeds)
    seeds = ", ".join(map(str, run.seeds[:12])) + (", ..." if count > 12 else "")
    which = f" (seed{'s' if count > 1 else ''} {seeds})" if count else ""
    return f"Conditions: {labels}. Repetitions: {count}{which}."


def shared_luck(run: RunRecord, evidence: Evidence) -> str:
    """That the conditions of one seed lose the same packets, if the kernel could do that."""
    if len(run.conditions) < 2 or not evidence.same_draws:
        return ""
    return "Chance begins anew, and alike, for every condition of a seed: so pairs are compared."


def kind_of_link(evidence: Evidence) -> str:
    """That a link is no line, if it was none."""
    if not evidence.has_buckets:
        return ""
    return (
        "Links were token buckets, as timers of real time need them: a lone packet and short bursts"
        " pass at once."
    )


def of_an_old_kernel(evidence: Evidence) -> str:
    """What an old kernel has only once for all hosts, or not at all, of what was to be set."""
    shared, absent = evidence.shared_sysctls, evidence.absent_sysctls
    sentences = []
    if shared:
        sentences.append(f"This kernel has one value for all hosts of: {', '.join(shared)}.")
    if absent:
        sentences.append(f"It does not have: {', '.join(absent)}.")
    if evidence.has_bridges:
        sentences.append("Switches were bridges: it has no Open vSwitch.")
    return " ".join(sentences)


def packets_to_see(results: RunResults) -> str:
    """What the pages of packets show, by the captures and samples that there are."""
    ends = max((len(trial.ends) for trial in results.first), default=0)
    windows = ", windows" if any(trial.samples for trial in results.first) else ""
    exchange = " and what both ends saw" if ends > 1 else ""
    seed = results.first[0].trial.seed if results.first else ""
    source = "captures" if ends > 1 else "capture"
    shown = f"Sequence numbers, throughput, round trips{windows}{exchange}"
    return f"{shown}, from the {source} of seed {seed}." if ends else ""


def no_graph(results: RunResults) -> str:
    """Why nothing is drawn."""
    if not results.measured:
        return "No graph could be drawn: nothing was measured."
    if any(trial.ends or trial.samples for trial in results.first):
        return "There is no graph of these flows: only TCP's are drawn."
    return "No graph could be drawn: there is neither a capture nor a sample of a socket."


def how_figures_are_written(run: RunRecord) -> list[str]:
    """What a cell and the column of differences are."""
    if len(run.seeds) < 2:
        return ["Figures are those of the one repetition."]
    medians = "Figures are medians over the repetitions, with the range in brackets."
    if len(run.conditions) < 2:
        return [medians]
    return [
        medians,
        (
            "The column of differences compares pairs of one seed: the ratio, or the difference if"
            " a value is not above zero, after Hodges and Lehmann. From six repetitions on it has"
            " its 95 % interval, and if there are enough for all figures of a table together also"
            " a verdict, by Wilcoxon's signed-rank test with Holm's correction"
            " (docs/statistics.md)."
        ),
    ]


def same_again(run: RunRecord) -> str:
    """What the same seeds give again, which only virtual time can promise."""
    if run.manifest.testbed != "virtual":
        return ""
    what = "captures" if run.captures else "packets"
    return f"The same seeds, kernel and image give the same {what}, byte for byte."


def files_beside(results: RunResults) -> str:
    """Which folder with graphs the report has."""
    has_graphs = any(trial.ends for trial in results.first)
    return "Graphs for xplot are in graphs/." if has_graphs else ""
