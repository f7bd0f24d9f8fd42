"""The lab about packet loss."""
