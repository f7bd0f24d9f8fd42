"""Many guests at once: on the processors of this machine, or on the workers of a Dask cluster.

Only packetdrill scripts (testbed/packetdrill) run in guests with threads of their own.
"""
