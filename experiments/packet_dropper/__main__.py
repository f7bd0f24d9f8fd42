from experiments.harness.cli.main import start

start("packet_dropper")
