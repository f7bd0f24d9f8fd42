"""`python -m experiments --list` names every experiment; `python -m experiments NAME` runs one.

`python -m experiments.NAME` does too, on this kernel as root where it can.
"""

from experiments.cli.main import run, start

_, _, study = f".{__package__}".partition(".experiments.")
if study:
    start(study)
else:
    run()
