"""`python -m experiments --list` names every experiment; `python -m experiments NAME` runs one."""

from experiments.cli.main import run

run()
