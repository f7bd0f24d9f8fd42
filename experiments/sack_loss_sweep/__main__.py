from experiments.harness.cli.main import start

start("sack_loss_sweep")
