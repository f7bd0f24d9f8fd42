from experiments.harness.cli.main import start

start("udp_fairness")
