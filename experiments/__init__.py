"""What is asked of a network: one file per named experiment, with its claim, its parameters and its
spec.
"""
