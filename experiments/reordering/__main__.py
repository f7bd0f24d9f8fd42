from experiments.cli.main import start

start("reordering")
