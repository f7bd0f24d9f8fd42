from experiments.cli.main import start

start("sack_loss_sweep")
