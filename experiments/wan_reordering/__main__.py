from experiments.harness.cli.main import start

start("wan_reordering")
