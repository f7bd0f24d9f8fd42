"""This computer: its capacity, packages and processes, and jobs seen from outside."""
