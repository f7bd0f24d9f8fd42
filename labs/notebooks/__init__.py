"""Notebooks: each lab through the Python API, written from its spec."""
