"""Templates and colours of pages, and files that are written whole."""
