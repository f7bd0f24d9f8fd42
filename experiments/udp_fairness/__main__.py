from experiments.cli.main import start

start("udp_fairness")
