from experiments.harness.cli.main import start

start("custom_cc")
