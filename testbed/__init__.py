"""Where an experiment runs: spec to live Mininet network, natively or inside the lab kernel in
virtual time.
"""

from pathlib import Path

VERSION = "0.1.0"
CODE = Path(__file__).resolve().parent.parent
"""The folder of all packages: the checkout, or where an installed copy is."""
