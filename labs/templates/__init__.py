"""Templates of handouts, answer sheets and pages, and what renders them."""
