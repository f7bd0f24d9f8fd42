"""A release: everything that a run needs, as wheels and as an archive, the same byte for byte.

What decides the bytes: the code; the locks (packages of image and sandbox, Python packages, crates,
the kernel's source); gcc and the C library, mksquashfs, rustc, and Python's zlib.
"""
