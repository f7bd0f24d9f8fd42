from experiments.harness.cli.main import start

start("initial_window")
