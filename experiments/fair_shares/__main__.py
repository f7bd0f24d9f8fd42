from experiments.cli.main import start

start("fair_shares")
