"""Run a study by `python -m experiments NAME` or `python -m experiments.NAME`."""

from experiments.cli.main import run, start

_, _, study = f".{__package__}".partition(".experiments.")
if study:
    start(study)
else:
    run()
