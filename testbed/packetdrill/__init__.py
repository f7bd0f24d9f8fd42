"""packetdrill scripts in the lab kernel: from a file to what passed, and what failed and where."""
