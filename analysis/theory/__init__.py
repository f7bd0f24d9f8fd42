"""Laws of TCP: formulas with their sources, and runs compared with them."""
