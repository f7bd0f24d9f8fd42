from experiments.harness.cli.main import start

start("cubic_curve")
