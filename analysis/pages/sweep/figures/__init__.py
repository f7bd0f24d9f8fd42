"""The graphs of a sweep: small multiples over the grid, for a reader who was not told what to look
for.
"""
