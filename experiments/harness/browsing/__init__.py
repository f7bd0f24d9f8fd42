"""Runs that are there already: found again, and put beside each other."""
