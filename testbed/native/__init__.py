"""The native testbed: namespaces of this kernel, and what is changed and put back."""
