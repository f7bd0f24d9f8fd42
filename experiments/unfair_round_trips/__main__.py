from experiments.harness.cli.main import start

start("unfair_round_trips")
