"""Pages of runs, sweeps, reproductions and comparisons."""
