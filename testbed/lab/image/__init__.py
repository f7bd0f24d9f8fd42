"""The guest's root file system: its packages, its configuration and its recipe."""
