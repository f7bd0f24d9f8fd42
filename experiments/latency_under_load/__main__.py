from experiments.cli.main import start

start("latency_under_load")
