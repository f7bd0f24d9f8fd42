"""The command line: `./tcplab run`, `sweep`, `reproduce` and what belongs to them."""
