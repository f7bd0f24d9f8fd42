from experiments.cli.main import start

start("cubic_curve")
