"""Flows in the guest: the procedure of a condition, traffic, and the proof that it held."""
