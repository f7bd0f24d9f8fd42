"""What pages and figures share: templates, letters, colours, and files written whole."""
