"""The loss sweep: counts beside each report, and the own part of a sweep's page."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.records.run_directory import RunRecord
from analysis.records.sweep_folder import SweepRecord
from analysis.reporting.study_reports import StudyReport
from analysis.reporting.sweep_summary import SweepStudy
from analysis.statistics.sweep_samples import SweepSamples
from experiments.sack_loss_sweep import loss_summary
from experiments.sack_loss_sweep.statistics_file import file_name, statistics


def statistics_files(run: RunRecord) -> Iterator[tuple[str, bytes]]:
    """The statistics file of each trial, under its name."""
    for trial in run.trials:
        yield (
            file_name(trial.condition.name, {}, trial.seed),
            statistics(run, trial).encode(),
        )


def sweep_study(sweep: SweepRecord, samples: SweepSamples) -> SweepStudy | None:
    """The study's table, graph and answers; None if the sweep varies more than the study did."""
    from experiments.sack_loss_sweep.loss_figure import graphs

    ours, published = loss_summary.ours(sweep, samples), loss_summary.published()
    if not ours:
        return None
    return SweepStudy(
        loss_summary.summary(ours, published),
        graphs(ours, published),
        loss_summary.answers(ours, published),
    )


REPORT = StudyReport(extra_files=statistics_files, sweep_study=sweep_study)
