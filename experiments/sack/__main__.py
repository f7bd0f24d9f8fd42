"""`python -m experiments.sack`."""

from experiments.harness.cli.main import start

start("sack")
