"""Where an experiment runs: spec to live Mininet network, natively or inside the lab kernel in
virtual time.
"""

VERSION = "0.1.0"
