"""A computer with Debian's own kernel, emulated by QEMU without KVM, for real native runs anywhere.

The kernel and busybox are fetched with apt and unpacked into the cache, not installed. The root
is the lab's image, which holds Mininet, Open vSwitch and the tools; a job enters and its results
leave through one folder (9p).
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from testbed.builds import BuildReport, Workshop
from testbed.builds.cache import Entry, Facts, Recipe, ready
from testbed.builds.debian import Apt
from testbed.host.job_archive import job_archive
from testbed.host.supervise import CONSOLE, clock_at_end
from testbed.lab.image import SUITE
from testbed.lab.ready import Lab
from testbed.lab.tools import sealed

START = Path(__file__).with_name("start.sh")
QEMU = "qemu-system-x86_64"
MEMORY = "1500M"
_KERNELS = r"^linux-image-6\.1\.0-[0-9]+-amd64$"
_MODULES = (  # of the kernel's tree: what the computer starts with, and what the testbed uses
    "drivers/virtio",
    "drivers/block/virtio_blk.ko",
    "fs/squashfs",
    "fs/overlayfs",
    "fs/9p",
    "fs/netfs",
    "fs/fscache",
    "net",
    "lib",
    "crypto",
    "arch/x86/crypto",
    "drivers/net/veth.ko",
    "drivers/net/dummy.ko",
    "drivers/net/ifb.ko",
)


def stock_kernel(report: BuildReport | None = None) -> Entry:
    """Kernel and initial RAM disk, fetched the first time. Raises TcplabError, CommandError."""
    recipe = Recipe("stock", (Path(__file__), START), ("vmlinuz", "initrd"), _build, SUITE)
    return ready(recipe, report or BuildReport())


def run(entry: Entry, lab: Lab, module: str, data: Any, out: Path, seconds: float) -> float:
    """Run `perform(data, job)` of `module` as root on that computer, with its results in `out`.

    Returns the seconds of its own clock. Raises TcplabError with the job's own message.
    """
    (out / "job.pyz").write_bytes(job_archive(module, data))
    command = [
        QEMU,
        "-accel",
        "tcg,thread=multi",
        "-smp",
        "2",
        "-m",
        MEMORY,
        "-nodefaults",
        "-display",
        "none",
        "-no-reboot",
        "-kernel",
        str(entry.folder / "vmlinuz"),
        "-initrd",
        str(entry.folder / "initrd"),
        "-serial",
        "stdio",
        "-append",
        "console=ttyS0 panic=-1 tsc=reliable quiet",
        "-drive",
        f"if=virtio,format=raw,readonly=on,file={lab.image}",
        "-virtfs",
        f"local,path={out},mount_tag=out,security_model=none",
    ]
    with (out / CONSOLE).open("wb") as console:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            timeout=seconds,
            check=False,
        )
    return clock_at_end(out, done.returncode)


def _build(workshop: Workshop) -> Facts:
    workshop = sealed(workshop, "dpkg-deb")
    apt = Apt(workshop, SUITE)
    apt.update()
    listed = apt._run("Reading", ["apt-cache", "search", "--names-only", _KERNELS]).splitlines()
    names = (line.split()[0] for line in listed)
    kernel = max(names, key=lambda name: int(name.split("-")[3]))
    (workshop.folder / "unpacked").mkdir()
    for package in (kernel, "busybox-static"):
        deb = apt.download(package).name
        workshop.run(f"Unpacking {package}", ["dpkg-deb", "--extract", deb, f"unpacked/{package}"])
    release = kernel.removeprefix("linux-image-")
    unpacked = workshop.folder / "unpacked"
    shutil.copy(unpacked / kernel / "boot" / f"vmlinuz-{release}", workshop.folder / "vmlinuz")
    modules = unpacked / kernel / "lib/modules" / release
    pack_disk(workshop, modules, _MODULES, unpacked / "busybox-static/bin/busybox")
    return {"release": release}


def pack_disk(workshop: Workshop, modules: Path, wanted: Sequence[str], busybox: Path) -> None:
    """Make `initrd` of the workshop's folder `disk`, with busybox and the modules wanted.

    `modules` is a kernel's folder of them, named by its release; they are not compressed.
    """
    _lay_out(workshop.folder / "disk", modules, wanted, busybox)
    workshop.run("Listing the modules", ["disk/bin/busybox", "depmod", "-b", "disk", modules.name])
    pack = "cd disk && find . | sort | bin/busybox cpio -o -H newc -R 0:0 > ../initrd"
    workshop.run("Packing the initial RAM disk", ["sh", "-c", pack])


def _lay_out(disk: Path, modules: Path, wanted: Sequence[str], busybox: Path) -> None:
    for name in ("bin", "proc", "sys", "dev", "image", "written", "root"):
        (disk / name).mkdir(parents=True, exist_ok=True)
    (disk / "sbin").symlink_to("bin")  # the kernel loads modules on demand with /sbin/modprobe
    shutil.copy(busybox, disk / "bin/busybox")
    shutil.copy(START, disk / "init")
    (disk / "init").chmod(0o755)
    own = disk / "lib/modules" / modules.name
    for file in _files(modules, wanted):
        place = own / file.relative_to(modules)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    for name in ("modules.order", "modules.builtin", "modules.builtin.modinfo"):
        shutil.copy(modules / name, own / name)


def _files(modules: Path, wanted: Sequence[str]) -> Iterator[Path]:
    for name in wanted:
        place = modules / "kernel" / name
        yield from place.rglob("*.ko") if place.is_dir() else [place]
