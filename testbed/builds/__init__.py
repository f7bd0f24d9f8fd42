"""Builds: steps, the cache that keeps them, Debian packages, and what comes prebuilt."""
