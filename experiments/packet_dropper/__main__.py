"""`python -m experiments.packet_dropper`."""

from experiments.harness.cli.main import start

start("packet_dropper")
