"""Stored runs: list and compare them; servers for the browser."""
