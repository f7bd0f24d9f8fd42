from experiments.harness.cli.main import start

start("latency_under_load")
