"""The lab about congestion control."""
