"""A congestion control of one's own: built from its source, and what its crash says."""
