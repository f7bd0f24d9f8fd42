from experiments.harness.cli.main import start

start("home_uplink")
