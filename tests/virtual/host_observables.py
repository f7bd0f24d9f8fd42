"""What this computer can observe of a guest that attacks it: files, processes, sockets, memory."""

import hashlib
import os
import re
import socket
import stat
import subprocess
from collections.abc import Container, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.host.processes import with_descendants

SECRET = "the secret of this computer"
_IPC = ("shm", "sem", "msg")  # proc_sysvipc(5)


@dataclass(frozen=True)
class Targets:
    """Things of the guest's user outside of the guest: files, a process, sockets that listen."""

    folder: Path
    user: int
    process: subprocess.Popen[bytes]
    sockets: tuple[socket.socket, ...]

    @property
    def paths(self) -> list[str]:
        return [str(self.folder / "secret"), str(self.folder), str(self.folder / "socket")]

    def names(self) -> list[bytes]:
        """The sockets' addresses as struct sockaddr_un."""
        family = socket.AF_UNIX.to_bytes(2, "little")
        names = [each.getsockname() for each in self.sockets]
        return [family + (os.fsencode(name) if isinstance(name, str) else name) for name in names]

    def observed(self) -> dict[str, Any]:
        """Everything that a guest must leave as it is."""
        return {
            "files": dict(_files(self.folder)),
            "process": _state(self.process),
            "messages": [_received(each) for each in self.sockets],
            "ipc": {kind: _rows(Path(f"/proc/sysvipc/{kind}"), self.user) for kind in _IPC},
            "queues": _owned(Path("/dev/mqueue"), self.user),
            "memory": _owned(Path("/dev/shm"), self.user),
            "limits": Path(f"/proc/{os.getpid()}/limits").read_text(),
        }


@contextmanager
def targets(folder: Path, out: Path, user: int, taken: Container[int]) -> Iterator[Targets]:
    """Make them, a socket in the guest's folder too; no process has a number that is `taken`."""
    (folder / "secret").write_text(SECRET)
    (folder / "inner").mkdir()
    with ExitStack() as kept:
        sockets = []
        for place in (str(folder / "socket"), str(out / "socket"), f"\0tcplab-{os.getpid()}"):
            made = kept.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM))
            made.bind(place)
            made.setblocking(False)
            sockets.append(made)
        for path in (folder, *folder.rglob("*"), out / "socket"):
            os.chown(path, user, -1)
        process = _outsider(kept, user)
        while process.pid in taken or -process.pid in taken:
            process = _outsider(kept, user)
        yield Targets(folder, user, process, tuple(sockets))


def _outsider(kept: ExitStack, user: int) -> subprocess.Popen[bytes]:
    who = user if os.geteuid() == 0 else None
    process = kept.enter_context(subprocess.Popen(["sleep", "1000"], user=who))
    kept.callback(process.kill)
    return process


def held(first: int) -> set[str]:
    """The kinds of all that the processes of a guest have open or share, below its first one."""
    kinds: set[str] = set()
    for process in with_descendants(first):
        folder = Path(f"/proc/{process}")
        if Path(os.readlink(folder / "exe")).name not in ("linux", "attacker"):
            continue
        kinds |= {_kind(os.readlink(each)) for each in (folder / "fd").iterdir()}
        shared = re.findall(r"^\S+ ..[-x]s .*? ([/\[].*)$", (folder / "maps").read_text(), re.M)
        kinds |= {"shared " + _kind(each) for each in shared}
    return kinds


def open_to_others(out: Path) -> list[str]:
    """What is in the guest's folder that others may write to, or that is no plain file."""
    found = []
    for path in out.rglob("*"):
        mode = path.lstat().st_mode
        plain = stat.S_ISREG(mode) or stat.S_ISDIR(mode)
        if path.name != "socket" and (not plain or mode & 0o6022):
            found.append(f"{path.relative_to(out)}: {stat.filemode(mode)}")
    return sorted(found)


def _kind(target: str) -> str:
    return re.sub(r"\d+", "N", re.sub(r"^.*/lab/out|^/tmp/.*/out", "OUT", target))


def _files(folder: Path) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for path in sorted((folder, *folder.rglob("*"))):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        about = status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns, status.st_nlink
        yield str(path), (*about, hashlib.sha256(content).hexdigest())


def _state(process: subprocess.Popen[bytes]) -> str:
    """Running or stopped; and the signals that wait, which a signal would have changed."""
    if process.poll() is not None:
        return f"ended with {process.returncode}"
    text = Path(f"/proc/{process.pid}/status").read_text()
    return "; ".join(re.findall(r"^(?:State|TracerPid|SigPnd|ShdPnd):.*$", text, re.M))


def _received(listening: socket.socket) -> bytes:
    try:
        return listening.recv(100)
    except BlockingIOError:
        return b""


def _rows(table: Path, user: int) -> list[str]:
    lines = table.read_text().splitlines() if table.exists() else []
    return [line for line in lines[1:] if str(user) in line.split()]


def _owned(folder: Path, user: int) -> list[str]:
    if not folder.is_dir():
        return []
    found = [entry for entry in os.scandir(folder) if not entry.name.startswith("tcplab-")]
    return sorted(entry.name for entry in found if entry.stat(follow_symlinks=False).st_uid == user)
