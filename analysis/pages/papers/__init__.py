"""Figures of papers."""
