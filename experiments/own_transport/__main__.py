from experiments.cli.main import start

start("own_transport")
