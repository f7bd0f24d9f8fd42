"""`python -m experiments.sack_loss_sweep`."""

from experiments.cli.main import start

start("sack_loss_sweep")
