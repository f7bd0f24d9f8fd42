from experiments.cli.main import start

start("initial_window")
