from experiments.harness.cli.main import start

start("loss_formula")
