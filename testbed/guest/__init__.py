"""What runs where the network is: in the guest, or as root in the native testbed's namespaces.

The standard library and Mininet only: the guest holds nothing else.
"""
