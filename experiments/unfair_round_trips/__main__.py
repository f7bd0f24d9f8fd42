from experiments.cli.main import start

start("unfair_round_trips")
