"""Reproduction of published numbers: the run of each, all on the engine, and one page."""
