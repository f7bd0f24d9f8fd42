"""Where an experiment runs: natively on this kernel, or in a guest's lab kernel in virtual time."""

from pathlib import Path

VERSION = "0.1.0"
CODE = Path(__file__).resolve().parent.parent
"""The folder that all packages are in: the checkout, or the site-packages of an installed copy."""
