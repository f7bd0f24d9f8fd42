"""Published numbers as data: what was measured, with which settings, and why ours may differ."""
