"""The lab about selective acknowledgement."""
