from experiments.cli.main import start

start("l4s_coexistence")
