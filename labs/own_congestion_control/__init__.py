"""The lab about own congestion control."""
