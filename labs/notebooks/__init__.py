"""Notebooks: each lab through the Python API, written from its spec so that nothing in them is
typed twice.
"""
