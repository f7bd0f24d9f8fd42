"""The graphs of a reproduction: published numbers hollow, ours filled."""
