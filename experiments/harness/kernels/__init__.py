"""Kernels beside each other: a standing set of experiments, and the search for a commit."""
