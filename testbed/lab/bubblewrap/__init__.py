"""The sandbox's own program, for machines that have none."""
