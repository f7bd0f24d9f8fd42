from experiments.harness.cli.main import start

start("slow_start")
