"""The documentation as a site: its pages from docs/ and from the code, built without a network."""
