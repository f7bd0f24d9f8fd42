"""What a network is: units, topologies, queueing disciplines, and their errors."""
