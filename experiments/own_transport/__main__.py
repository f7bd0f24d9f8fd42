from experiments.harness.cli.main import start

start("own_transport")
