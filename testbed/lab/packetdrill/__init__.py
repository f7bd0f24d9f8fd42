"""The program packetdrill: where its source comes from, and how it is built for the guest."""
