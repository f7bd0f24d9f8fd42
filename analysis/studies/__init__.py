"""What is particular to each experiment; `choice` says which is whose."""
