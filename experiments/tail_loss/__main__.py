from experiments.cli.main import start

start("tail_loss")
