"""Programs of Debian that tcplab needs and fetches: the sandbox's, and the maker of images."""
