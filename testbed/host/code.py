"""Where the code of this copy is."""

from pathlib import Path

CODE = Path(__file__).resolve().parents[2]
"""The folder of all packages: the checkout, or where an installed copy is."""
