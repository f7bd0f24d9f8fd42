"""`python -m experiments.wan_reordering`."""

from experiments.cli.main import start

start("wan_reordering")
