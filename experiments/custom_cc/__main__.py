"""`python -m experiments.custom_cc`."""

from experiments.cli.main import start

start("custom_cc")
