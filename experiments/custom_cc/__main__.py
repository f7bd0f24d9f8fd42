from experiments.cli.main import start

start("custom_cc")
