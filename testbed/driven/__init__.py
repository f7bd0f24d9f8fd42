"""Parts of networks that run programs of the user's: they travel with that job alone."""
