"""`python -m experiments.reno_sawtooth`."""

from experiments.cli.main import start

start("reno_sawtooth")
