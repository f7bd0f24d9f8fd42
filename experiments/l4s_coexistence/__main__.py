from experiments.harness.cli.main import start

start("l4s_coexistence")
