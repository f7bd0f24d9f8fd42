from experiments.cli.main import start

start("slow_start")
