"""`python -m experiments.sack`."""

from experiments.cli.main import start

start("sack")
