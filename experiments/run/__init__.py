"""A run: the request, its seeds in guests, the run directory, and its repetition."""
