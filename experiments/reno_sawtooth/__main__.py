from experiments.cli.main import start

start("reno_sawtooth")
