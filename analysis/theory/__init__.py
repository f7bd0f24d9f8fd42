"""What the literature says that TCP does: formulas with their sources, and runs beside them."""
