"""Grading: hand-ins from strangers in, points, feedback and flags out."""
