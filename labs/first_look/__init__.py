"""The lab of the first 20 minutes."""
