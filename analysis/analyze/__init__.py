"""`./tcplab analyze FILE...`: what TCP did in any capture, in the terminal and as files."""
