from experiments.cli.main import start

start("incast")
