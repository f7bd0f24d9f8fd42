from experiments.harness.cli.main import start

start("bbr_share")
