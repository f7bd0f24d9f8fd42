"""The lab about bufferbloat at home."""
