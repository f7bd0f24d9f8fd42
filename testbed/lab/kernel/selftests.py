"""The kernel's own packetdrill scripts, in one small file beside the kernel that they belong to.

Each kernel has its own, for what TCP does on the wire changes from version to version. Kernels
before 6.12 have none; the file is then an empty archive.
"""

from __future__ import annotations

from testbed.recipes.building import Workshop

SELFTESTS = "selftests.tar.gz"
"""160 scripts in 7.2, 240 KB, 40 KB compressed."""

# The order of names, owners and times are fixed: the same tree gives the same file.
_PACK = """\
cd tree/tools/testing/selftests/net/packetdrill 2>/dev/null || cd "$(mktemp -d)"
find . -maxdepth 1 -type f | sort |
    tar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=go-w -cf - -T - |
    gzip -n9
"""


def pack_selftests(workshop: Workshop) -> None:
    """Leave the scripts of the source in `tree` in the workshop as SELFTESTS."""
    text = "Keeping the kernel's packetdrill scripts"
    workshop.run(text, ["bash", "-o", "pipefail", "-e", "-c", f"({_PACK}) >{SELFTESTS}"])
