"""The folder that the code of this copy is in."""

from pathlib import Path

CODE = Path(__file__).resolve().parents[2]
"""The folder that all packages are in: the checkout, or the site-packages of an installed copy."""
