"""The lab about an unknown capture with three faults."""
