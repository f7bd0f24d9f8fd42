"""`python -m experiments.slow_start`."""

from experiments.cli.main import start

start("slow_start")
