"""Pages of runs, sweeps and reproductions: the only rooms that know every other."""
