"""`./tcplab lab` and `./tcplab grade`."""
