"""What runs in the guest, or as root in the native testbed's namespaces.

The standard library and Mininet only: a guest has no other libraries.
"""
