"""The native testbed: namespaces of this kernel, and its changes, which are undone."""
