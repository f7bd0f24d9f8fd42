"""What repetitions say together: intervals, paired tests, and verdicts."""
