from experiments.cli.main import start

start("packet_dropper")
