from experiments.cli.main import start

start("bbr_share")
