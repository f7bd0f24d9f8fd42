from experiments.cli.main import start

start("cubic_vs_reno")
