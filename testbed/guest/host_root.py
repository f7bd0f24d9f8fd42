"""Roots of programs in hosts: of the user's programs, and of strangers'.

The user's see this computer's folders over hostfs, read-only and without access times. Folders that
programs may write to are overlays, so what they write is the guest's alone.

Strangers' programs reach other hosts by packets only: each has a root of the read-only image and a
folder of files, a user without capabilities, and limits. Kernels before 6.1 have no overlays;
there, programs are as trusted as the job.
"""

import ctypes
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from testbed.guest.kernel_modules import TUNNEL
from testbed.guest.namespaces import network_namespace
from testbed.guest.network import LiveNetwork
from topologies.addresses import ipv6_of

ROOTS = Path("/run/hosts")  # a folder for the root of each host's programs in the guest
COMMON = Path("/run/common")  # what all hosts see: this computer's folders, devices, processes
LAYERS = Path("/run/layers")  # what overlays are made of
OF_IMAGE = Path("/run/lab")
"""Where hosts find programs of the lab's image that this computer may lack."""
IMAGE_PROGRAMS = {
    # Debian's /usr/sbin/ip is a link to /bin/ip, which this computer may lack.
    **dict.fromkeys(("ip", "iperf", "ping", "socat", "ss", "tcpdump"), "bin"),
    **dict.fromkeys(("bridge", "ethtool", "ifconfig", "route", "sysctl", "tc"), "sbin"),
    **dict.fromkeys(("netstat", "nstat"), "bin"),
}
_LIBRARIES = f"{OF_IMAGE}/usr/lib/x86_64-linux-gnu"
_SCRATCH = ("tmp", "var/tmp", "var/log", "var/lib", "run", "root", "home", "mnt")
_RDONLY, _NOSUID, _NODEV, _NOATIME, _NODIRATIME = 1, 2, 4, 1024, 2048
_BIND, _WITH_ALL_BELOW = 4096, 16384  # MS_BIND, MS_REC
_QUIET = _RDONLY | _NOSUID | _NODEV | _NOATIME | _NODIRATIME
_DEVICES = {"null": (1, 3), "zero": (1, 5), "full": (1, 7), "random": (1, 8), "urandom": (1, 9)}
_DEVICES |= {"tty": (5, 0)}
_TCPDUMP = "tcpdump:x:0:0::/:/bin/false\n"
"""The user that tcpdump would become; the image has no other than root."""
_LINKS = {"fd": "/proc/self/fd", "ptmx": "pts/ptmx"}
_STREAMS = ("stdin", "stdout", "stderr")
_LINKS |= {name: f"/proc/self/fd/{number}" for number, name in enumerate(_STREAMS)}
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class HostFolders:
    """Folders that programs see and may write to, and links, of this computer or `of_image`."""

    seen: tuple[str, ...]
    written: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    of_image: bool = False


def root_of(host: str) -> Path:
    """Return the folder that is the root of a host's programs."""
    return ROOTS / host


def make_roots(folders: HostFolders, addresses: Mapping[str, str]) -> None:
    """Mount what all hosts see; `addresses` are those of the hosts. Raises OSError."""
    for place in (COMMON, LAYERS, ROOTS):
        place.mkdir(exist_ok=True)
        _mount("tmpfs", place, "tmpfs", 0, "mode=0755")
    for folder in folders.seen:
        _show(folder, folder in folders.written, folders.of_image)
    _make_devices(COMMON / "dev")
    (COMMON / "proc").mkdir()
    _mount("proc", COMMON / "proc", "proc", _NOSUID | _NODEV)
    _name_hosts(COMMON / "etc", addresses)
    if folders.of_image:
        with (COMMON / "etc/passwd").open("a") as users:
            users.write(_TCPDUMP)
    else:
        _show_image(COMMON / "lab")


def make_root(host: str, pid: int, folders: HostFolders) -> None:
    """Mount a host's root; `pid` is a process in the host's network. Raises OSError."""
    root = root_of(host)
    root.mkdir()
    _mount("tmpfs", root, "tmpfs", 0, "mode=0755")
    for place in (root / name for name in _SCRATCH):
        place.mkdir(parents=True)
        place.chmod(0o1777)
    for link, target in folders.links:
        (root / link.lstrip("/")).symlink_to(target)
    for folder in (*folders.seen, "/dev", "/proc"):
        place = root / folder.lstrip("/")
        place.mkdir(parents=True, exist_ok=True)
        _mount(f"{COMMON}{folder}", place, "", _BIND | _WITH_ALL_BELOW)
    if not folders.of_image:
        (root / str(OF_IMAGE).lstrip("/")).mkdir()
        _mount(f"{COMMON}/lab", root / str(OF_IMAGE).lstrip("/"), "", _BIND | _WITH_ALL_BELOW)
    (root / "sys").mkdir()
    with network_namespace(pid):  # whose interfaces it lists
        _mount("sysfs", root / "sys", "sysfs", _NOSUID | _NODEV)


def _show(folder: str, is_written: bool, of_image: bool) -> None:
    """Mount a folder at its path, below an overlay if it is written to."""
    place = COMMON / folder.lstrip("/")
    place.mkdir(parents=True, exist_ok=True)
    lower, upper, work = (LAYERS / name / folder.lstrip("/") for name in ("lower", "upper", "work"))
    for layer in (lower, upper, work) if is_written else ():
        layer.mkdir(parents=True)
    seen = lower if is_written else place
    if of_image:
        _mount(folder, seen, "", _BIND)
    else:
        _mount("none", seen, "hostfs", _QUIET, f"/host{folder}")
    if is_written:
        options = f"lowerdir={lower},upperdir={upper},workdir={work}"
        _mount("overlay", place, "overlay", _NOATIME | _NODIRATIME, options)


def _show_image(place: Path) -> None:
    """Show the image's programs, which need its loader and libraries instead of this computer's."""
    for name in ("usr", "bin"):
        (place / name).mkdir(parents=True)
    _mount("/usr", place / "usr", "", _BIND)
    loader = f"{_LIBRARIES}/ld-linux-x86-64.so.2 --library-path {_LIBRARIES}"
    for name, folder in IMAGE_PROGRAMS.items():
        command = f"{loader} --argv0 {name} {OF_IMAGE}/usr/{folder}/{name}"
        tables = f"TC_LIB_DIR={OF_IMAGE}/usr/lib/tc "
        (place / "bin" / name).write_text(f'#!/bin/sh\n{tables}exec {command} "$@"\n')
        (place / "bin" / name).chmod(0o755)


def _make_devices(dev: Path) -> None:
    """Make the devices of an ordinary program; the guest's own are not among them."""
    dev.mkdir(exist_ok=True)
    for name, numbers in _DEVICES.items():
        os.mknod(dev / name, 0o20666, os.makedev(*numbers))
        (dev / name).chmod(0o666)
    if TUNNEL.exists():
        (dev / "net").mkdir()
        os.mknod(dev / "net/tun", 0o20666, TUNNEL.stat().st_rdev)
    for name, target in _LINKS.items():
        (dev / name).symlink_to(target)
    for name, kind, options in (("pts", "devpts", "ptmxmode=0666"), ("shm", "tmpfs", "mode=1777")):
        (dev / name).mkdir()
        _mount(kind, dev / name, kind, _NOSUID, options)


def _name_hosts(etc: Path, addresses: Mapping[str, str]) -> None:
    rows = (f"{at} {name}\n{ipv6_of(at)} {name} ip6-{name}\n" for name, at in addresses.items())
    hosts = "".join(rows)
    files = {
        "hosts": f"127.0.0.1 localhost\n::1 localhost ip6-localhost\n{hosts}",
        "gai.conf": "precedence ::ffff:0:0/96 100\n",  # IPv4 first: every server listens there
        "resolv.conf": "",
        "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\nservices: files\n",
    }
    for name, text in files.items():
        (etc / name).unlink(missing_ok=True)  # which may be a link out of /etc
        (etc / name).write_text(text)


def _mount(source: str, target: Path, kind: str, flags: int, data: str = "") -> None:
    words = [text.encode() for text in (source, str(target), kind, data)]
    if _libc.mount(words[0], words[1], words[2], flags, words[3]) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"mount {kind} on {target}: {os.strerror(number)}")


_FILES = "programs"
_NULL = os.makedev(1, 3)
_NOEXEC = 8
_WRITE_ONLY = 0o222
"""What cannot be read cannot be mapped either: the file's time is that of its last write(2)."""
_LAUNCHER = Path("/lab/init")
"""It shuts a stranger's program in (testbed/lab/kernel/strangers.c). There is none natively."""
_MEMORY, _SPARE = 256 << 20, 16 << 20
"""Bytes of a program's address space and files, on top of those of what it sends."""
PROCESSOR_SECONDS = 30
"""Of this computer, after which a program ends: a hundred times what one of the labs takes."""
AT_ITS_LIMIT = f"was ended at its limit of {PROCESSOR_SECONDS} s of the processor"


@dataclass(frozen=True)
class Stranger:
    """A user with a root below `place`, who sends or receives so many bytes by a protocol."""

    user: int
    place: Path
    protocol: str
    amount: int

    @property
    def is_confined(self) -> bool:
        return "overlay" in Path("/proc/filesystems").read_text()

    def settle(self, live: LiveNetwork, host: str) -> None:
        """Make the root, once. With "udp" the host refuses TCP to the user. Raises OSError."""
        if self.place.exists():
            return
        self.place.mkdir(parents=True)
        if self.is_confined:
            room = 2 * self.amount + _SPARE
            _mount("tmpfs", self.place, "tmpfs", _NOSUID | _NOEXEC, f"mode=0755,size={room}")
        for name in ("root", f"above/{_FILES}", "above/dev", _FILES, "tmp"):
            (self.place / name).mkdir(parents=True)
        (self.place / "tmp").chmod(0o1777)
        if self.is_confined:
            os.mknod(self.place / "above/dev/null", 0o20666, _NULL)
            (self.place / "above/dev/null").chmod(0o666)
            _mount("overlay", self.place / "root", "overlay", 0, f"lowerdir={self.place}/above:/")
            for name in (_FILES, "tmp"):
                _mount(str(self.place / name), self.place / "root" / name, "", _BIND)
            if self.protocol == "udp":
                whom = f"uidrange {self.user}-{self.user} ipproto tcp"
                live.batch(host, ["ip"], [f"rule add {whom} prohibit"])

    def give(self, name: str, content: bytes) -> str:
        """Write a file that the program can read, and return its path for the program."""
        self.file(name).write_bytes(content)
        return self._path(name)

    def take(self, name: str) -> str:
        """Make an empty file that the program can write, and return its path for the program."""
        self.file(name).unlink(missing_ok=True)
        self.file(name).touch()
        self.file(name).chmod(_WRITE_ONLY)
        return self._path(name)

    def file(self, name: str) -> Path:
        """Return the path of a file for the job."""
        return self.place / _FILES / name

    def _path(self, name: str) -> str:
        return f"/{_FILES}/{name}" if self.is_confined else str(self.file(name))

    def command(self, words: list[str]) -> list[str]:
        """Return the command that runs `words` as this user, in namespaces without others."""
        if not self.is_confined:
            return words
        root = str(self.place / "root")
        if _LAUNCHER.exists():
            most = (_MEMORY + 4 * self.amount, self.amount + _SPARE, PROCESSOR_SECONDS)
            who = (root, str(self.user), self.protocol)
            return [str(_LAUNCHER), "stranger", *who, *map(str, most), *words]
        alone = ["unshare", "--ipc", "--uts", f"--root={root}", "--wd=/tmp"]
        user = [f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", "--no-new-privs"]
        return [*alone, "setpriv", *user, *words]

    def end(self) -> None:
        """Kill all that the user runs, with what outlived its program."""
        kill = f"import os; os.setuid({self.user}); os.kill(-1, {int(signal.SIGKILL)})"
        if self.is_confined:
            subprocess.run(["/usr/bin/python3", "-BSc", kill], capture_output=True, check=False)
