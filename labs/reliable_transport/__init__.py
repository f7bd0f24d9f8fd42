"""The lab about a transport of one's own."""
