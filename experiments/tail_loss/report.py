"""The usual report: the claim compares completion times under the same losses."""

from analysis.reporting.studies import StudyReport

REPORT = StudyReport()
