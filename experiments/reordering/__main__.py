"""`python -m experiments.reordering`."""

from experiments.harness.cli.main import start

start("reordering")
