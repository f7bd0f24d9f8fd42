"""Many guests at once: on the processors of this machine, or on the workers of a Dask cluster.

Nothing else starts guests in parallel.
"""
