"""`python -m experiments.udp_fairness`."""

from experiments.cli.main import start

start("udp_fairness")
