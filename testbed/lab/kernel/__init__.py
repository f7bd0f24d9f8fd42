"""The lab kernel and the guest's first process: sources, patch, configuration and recipe."""
