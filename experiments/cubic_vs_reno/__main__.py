"""`python -m experiments.cubic_vs_reno`."""

from experiments.cli.main import start

start("cubic_vs_reno")
