"""What this machine can do and what is in the way.

The standard library only: it runs before anything is installed.
"""
