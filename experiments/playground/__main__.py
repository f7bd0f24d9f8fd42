"""`python -m experiments.playground`."""

from experiments.cli.main import start

start("playground")
