"""A user's own congestion control: built from its source, and its crash explained."""
