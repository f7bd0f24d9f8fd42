"""`python -m experiments.reno_sawtooth`."""

from experiments.harness.cli.main import start

start("reno_sawtooth")
