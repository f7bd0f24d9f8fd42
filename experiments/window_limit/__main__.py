from experiments.cli.main import start

start("window_limit")
