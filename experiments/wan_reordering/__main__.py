from experiments.cli.main import start

start("wan_reordering")
