"""`python -m experiments.slow_start`."""

from experiments.harness.cli.main import start

start("slow_start")
