"""A run's report and what the terminal shows of it."""
