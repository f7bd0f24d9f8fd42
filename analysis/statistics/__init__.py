"""Statistics of repetitions: intervals, paired tests, and verdicts."""
