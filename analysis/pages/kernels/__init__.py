"""The page of two kernels beside each other."""
