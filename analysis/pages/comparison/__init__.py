"""Runs, or points of sweeps, beside each other: a page, a terminal and JSON."""
