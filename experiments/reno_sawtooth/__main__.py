from experiments.harness.cli.main import start

start("reno_sawtooth")
