from experiments.cli.main import start

start("loss_formula")
