"""Comparison of two kernels: a standing set of cases, run on both."""
