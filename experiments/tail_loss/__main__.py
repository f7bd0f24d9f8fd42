from experiments.harness.cli.main import start

start("tail_loss")
