from experiments.harness.cli.main import start

start("cubic_vs_reno")
