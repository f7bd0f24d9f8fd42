"""The virtual testbed: a guest of the lab kernel, what it sees, and its folder taken back."""
