"""`python -m experiments.custom_cc`."""

from experiments.harness.cli.main import start

start("custom_cc")
