"""A release on a computer that QEMU emulates: a distribution's kernel, and any processor."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from testbed.builds.cache import Entry
from tests.native.stock_kernel import QEMU, stock_kernel

HERE = Path(__file__).parent
_PATIENCE = 3600.0  # seconds: a busy machine emulates a minute in ten
_BEGIN = (
    "/bin/busybox --install -s /bin; mkdir -p /out; mount -t proc proc /proc;"
    " modprobe -a virtio_pci 9pnet_virtio 9p;"
    " mount -t 9p -o trans=virtio,version=9p2000.L out /out; exec sh /out/start.sh"
)


@dataclass(frozen=True)
class EmulatedComputer:
    """`disk` has the unpacked release; what the computer writes to /out is in `out`.

    `kernel` gives its kernel and initial RAM disk.
    """

    disk: Path
    out: Path
    kernel: Callable[[], Entry] = stock_kernel

    def carry_out(self, processor: str, commands: str) -> None:
        """Carry out shell commands as its root (start_release.sh has what they may call).

        Raises AssertionError with what its console has if it did not come to their end.
        """
        shutil.copy(HERE / "start_release.sh", self.out / "start.sh")
        (self.out / "commands.sh").write_text(commands)
        with (self.out / "console").open("wb") as console:
            subprocess.run(
                self._command(processor),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                timeout=_PATIENCE,
                check=True,
            )
        assert (self.out / "ended").exists(), (self.out / "console").read_text(errors="replace")

    def _command(self, processor: str) -> list[str]:
        files = self.kernel().folder
        machine = ["-accel", "tcg", "-cpu", processor, "-m", "3G"]
        bare = ["-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio"]
        kernel = ["-kernel", str(files / "vmlinuz"), "-initrd", str(files / "initrd"), "-append"]
        kernel += [f'{_CONSOLE} rdinit=/bin/busybox -- sh -c "{_BEGIN}"']
        disk = ["-drive", f"if=virtio,format=raw,readonly=on,file={self.disk}"]
        shared = ["-virtfs", f"local,path={self.out},mount_tag=out,security_model=none"]
        return [QEMU, *machine, *bare, *kernel, *disk, *shared]


_CONSOLE = "console=ttyS0 panic=-1 tsc=reliable no_timer_check quiet"


def release_disk(release: Path, folder: Path) -> Path:
    """The release's archive, unpacked into a disk; what is not packed is read the fastest."""
    (archive,) = release.glob("*.tar.gz")
    tree, disk = folder / "tree", folder / "disk"
    tree.mkdir()
    options = ["--strip-components=1", "--no-same-owner"]
    subprocess.run(["tar", "-xzf", archive, "-C", tree, *options], check=True)
    unpacked = ["-noI", "-noD", "-noF", "-noX", "-no-progress", "-quiet"]
    subprocess.run(["mksquashfs", tree, disk, *unpacked], check=True)
    return disk
