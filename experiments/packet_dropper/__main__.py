"""`python -m experiments.packet_dropper`."""

from experiments.cli.main import start

start("packet_dropper")
