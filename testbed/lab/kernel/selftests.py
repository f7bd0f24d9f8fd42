"""What packetdrill needs of a kernel, beside the kernel: its own scripts, and the tunnel's driver.

Each kernel has scripts of its own, for what TCP does on the wire changes from version to version.
Kernels before 6.12 have none; the file is then an empty archive.

The driver is a module that only guests with packetdrill load. In the kernel itself it would move
memory and random numbers, and with them the packets of every experiment: measured.
"""

from __future__ import annotations

from testbed.recipes.building import FOLDER, Workshop
from testbed.recipes.cache import Facts
from topologies.foundation.errors import CommandError

SELFTESTS, TUNNEL = "selftests.tar.gz", "tun.ko"
"""160 scripts in 7.2, 240 KB, 36 KB compressed; and the driver, empty if the kernel has its own."""

# The order of names, owners and times are fixed: the same tree gives the same file.
_PACK = """\
cd tree/tools/testing/selftests/net/packetdrill 2>/dev/null || cd "$(mktemp -d)"
find . -maxdepth 1 -type f | sort |
    tar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=go-w -cf - -T - |
    gzip -n9
"""
# Built as a module from outside, for the kernel's configuration does not have it.
_COPY = f"""\
: >{TUNNEL}
mkdir tunnel
cp tree/drivers/net/tun.c tunnel
cp tree/drivers/net/tun_*.h tunnel 2>/dev/null || true
printf 'obj-m := tun.o\\nccflags-y := -DCONFIG_TUN_MODULE=1\\n' >tunnel/Kbuild
cp tunnel/Kbuild tunnel/Makefile
"""


def pack_selftests(workshop: Workshop) -> None:
    """Leave the scripts of the source in `tree` in the workshop as SELFTESTS."""
    text = "Keeping the kernel's packetdrill scripts"
    workshop.run(text, ["bash", "-o", "pipefail", "-e", "-c", f"({_PACK}) >{SELFTESTS}"])


def build_tunnel(workshop: Workshop, make: tuple[str, ...], environment: Facts) -> None:
    """Leave the driver in the workshop as TUNNEL, after pack_tree.

    It stays empty if the kernel has the driver built in, and if the driver cannot be built, which
    is noted: all but packetdrill runs on such a kernel.
    """
    text = "Building the tunnel for packetdrill"
    workshop.run(text, ["bash", "-e", "-c", _COPY])
    if "CONFIG_TUN=y" in (workshop.folder / "tree/.config").read_text().splitlines():
        return
    command = [*make, "-C", "tree", f"M={FOLDER}/tunnel", "modules"]
    try:
        workshop.run(text, command, environment=environment)
    except CommandError as error:
        workshop.report.note(f"packetdrill will not run on this kernel: {error}")
        return
    workshop.run(text, ["strip", "--strip-debug", "-o", TUNNEL, "tunnel/tun.ko"])
