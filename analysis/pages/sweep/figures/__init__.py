"""The graphs of a sweep: small multiples over the grid, which need no other explanation."""
