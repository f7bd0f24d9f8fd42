"""`python -m experiments.loss_formula`."""

from experiments.cli.main import start

start("loss_formula")
