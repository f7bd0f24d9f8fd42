"""`python -m experiments.cubic_curve`."""

from experiments.harness.cli.main import start

start("cubic_curve")
