from experiments.harness.cli.main import start

start("window_limit")
