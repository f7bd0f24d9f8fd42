"""Many points: a plan, the points that are known, and the table of all."""
