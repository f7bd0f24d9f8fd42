"""`python -m experiments.cubic_curve`."""

from experiments.cli.main import start

start("cubic_curve")
