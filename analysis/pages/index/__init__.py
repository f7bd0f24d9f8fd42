"""The index of all runs of a store."""
