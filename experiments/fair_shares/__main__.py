"""`python -m experiments.fair_shares`."""

from experiments.cli.main import start

start("fair_shares")
