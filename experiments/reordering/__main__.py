"""`python -m experiments.reordering`."""

from experiments.cli.main import start

start("reordering")
