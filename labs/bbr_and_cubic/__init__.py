"""The lab about BBR and CUBIC."""
