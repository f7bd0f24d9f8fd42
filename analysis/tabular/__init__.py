"""Tables of NumPy columns: what captures, their matching, graphs and sweeps are computed with."""
