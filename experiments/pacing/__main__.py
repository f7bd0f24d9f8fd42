from experiments.harness.cli.main import start

start("pacing")
