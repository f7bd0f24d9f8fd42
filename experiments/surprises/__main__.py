"""Write docs/concepts/surprises.md."""

from pathlib import Path

from experiments.surprises import page

Path(__file__).parents[2].joinpath("docs/concepts/surprises.md").write_text(page())
