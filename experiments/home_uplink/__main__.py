from experiments.cli.main import start

start("home_uplink")
