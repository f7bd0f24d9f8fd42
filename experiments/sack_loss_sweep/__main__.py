"""`python -m experiments.sack_loss_sweep`."""

from experiments.harness.cli.main import start

start("sack_loss_sweep")
