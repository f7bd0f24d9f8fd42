"""What was measured: each trial, each flow, each capture, by its key."""
