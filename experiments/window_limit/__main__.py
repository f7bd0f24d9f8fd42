"""`python -m experiments.window_limit`."""

from experiments.harness.cli.main import start

start("window_limit")
