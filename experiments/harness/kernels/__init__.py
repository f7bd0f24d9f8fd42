"""Comparison of kernels: a standing set of cases, a table, and the search for a commit."""
