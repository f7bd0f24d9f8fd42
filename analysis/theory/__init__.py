"""What the literature says TCP does: formulas with units and sources, and runs held against them."""
