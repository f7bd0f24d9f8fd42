"""Artefacts of runs and sweeps for a paper's evaluation."""
