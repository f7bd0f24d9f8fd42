"""`python -m experiments.window_limit`."""

from experiments.cli.main import start

start("window_limit")
