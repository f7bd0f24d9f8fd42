from experiments.harness.cli.main import start

start("fair_shares")
