"""The part of this computer that programs in a network see, and their environment.

Programs that read the processor's random numbers, which no seed repeats, are known by their files.
"""

import mmap
import os
import re
import shutil
import stat
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import run

from testbed.guest.host_root import IMAGE_PROGRAMS, HostFolders
from testbed.guest.host_root import OF_IMAGE as IMAGE_PLACE
from testbed.host import CODE
from testbed.virtual.sandbox import ordinary_user
from topologies.errors import UsageError

ENVIRONMENT = {
    "OPENSSL_ia32cap": "~0x4000000000000000:~0x40000",  # without RDRAND and RDSEED
    "SYSTEMD_RDRAND": "0",
    "QT_NO_CPU_FEATURE": "rdrand rdrnd rdseed",  # rdrnd since Qt 5.14
}
"""Variables that keep OpenSSL, BoringSSL, systemd and Qt from the instructions."""
_HONOURS = b"OPENSSL_ia32cap"
_RANDOM_DEVICE = b"\0_ZNSt13random_device7_M_init"  # in a table of symbols
_OPCODE = b"\x0f\xc7"
_INSTRUCTION = re.compile(
    rb"(?<![\xe8\xe9])\x0f\xc7[\xf0-\xff]"  # no distance of a call or jump
    # Compilers may put the store of the number and constants before the use of the carry.
    rb"(?:[\x40-\x4f\x66]?\x89.{1,3}?|[\xb8-\xbf]\x01\0\0\0){0,3}"
    # jc, jnc; cmov, jump or set by the carry; adc, sbb of a register and itself; adc $0.
    rb"(?:[\x72\x73]|[\x40-\x4f]?\x0f[\x42\x43\x82\x83\x92\x93]"
    rb"|[\x40-\x4f]?[\x11\x19][\xc0\xc9\xd2\xdb\xf6\xff]|\x83[\xd0-\xd7]\0)",
    re.DOTALL,
)
_ELF = b"\x7fELF\x02\x01"  # 64 bits, little endian
_LOAD, _EXECUTABLE = 1, 1  # elf(5): PT_LOAD, PF_X


def doubt(word: str, path: str, folder: Path) -> str:
    """Return why a run with a program, found by PATH from `folder`, may not repeat; else empty."""
    for file in _files(word, path, folder):
        with suppress(OSError, ValueError, struct.error):  # unreadable, empty, cut
            with file.open("rb") as opened:
                content = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
            if reason := _reason(content):
                return f"{file} can read the processor's random numbers ({reason})"
    return ""


def _files(word: str, path: str, folder: Path) -> Iterator[Path]:
    found = Path(folder / word if "/" in word else shutil.which(word, path=path) or "")
    if not found.is_file():
        return
    yield found
    with found.open("rb") as file:
        start = file.readline(256)
    words = start.removeprefix(b"#!").decode(errors="replace").split()
    if not start.startswith(b"#!") or not words:
        return
    if words[0].endswith("/env"):
        words = [each for each in words[1:] if each[0] != "-" and "=" not in each]
    if interpreter := shutil.which(words[0], path=path):
        yield Path(interpreter)


def _reason(content: mmap.mmap) -> str:
    if content[: len(_ELF)] != _ELF:
        return ""
    (table,) = struct.unpack_from("<Q", content, 32)  # elf(5)
    size, count = struct.unpack_from("<HH", content, 54)
    headers = [
        struct.unpack_from("<IIQQQQ", content, table + number * size) for number in range(count)
    ]
    code = [
        (begin, begin + length)
        for kind, flags, begin, _, _, length in headers
        if kind == _LOAD and flags & _EXECUTABLE
    ]
    # Names of dynamic symbols come before the code, or in its segment.
    if code and content.find(_RANDOM_DEVICE, 0, code[0][1]) >= 0:
        return "std::random_device"
    if any(_holds(content, *each) for each in code) and content.find(_HONOURS) < 0:
        return "rdrand or rdseed"
    return ""


def _holds(content: mmap.mmap, begin: int, end: int) -> bool:
    """Search by the opcode first, which is 20 times as fast as the expression alone."""
    while (begin := content.find(_OPCODE, begin, end)) >= 0:
        if _INSTRUCTION.match(content, begin):
            return True
        begin += 1
    return False


_SYSTEM = ("/usr", "/etc", "/opt")
_LINKS = ("/bin", "/sbin", "/lib", "/lib64")
_OF_THE_GUEST = ("dev", "proc", "sys", "run", "tmp", "boot", "lost+found")
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_OF_COMPUTER = f"{Path(sys.prefix) / 'bin'}:{_PATH}"
_NEEDED = {"usr", "etc", "bin", "lib", "lib64", "opt", "var"}
_NAMING = "by --folder of exec, --tcplab-folder of pytest, or `folders` in Python"
_ALL = 0o005  # what others need of a folder


@dataclass(frozen=True)
class VisibleFolders:
    """Folders of this computer by place in a host; programs write to copies of the `written`."""

    sources: Mapping[str, Path]
    written: tuple[str, ...]
    links: tuple[tuple[str, str], ...]

    @property
    def for_guest(self) -> HostFolders:
        return HostFolders(tuple(self.sources), self.written, self.links)

    def require(self, program: Path) -> None:
        """Raise UsageError if hosts do not see a program, or the interpreter that it links to."""
        if not program.is_absolute() or not program.exists():
            return
        files = dict.fromkeys((program.parent.resolve() / program.name, program.resolve()))
        hidden = [file for file in files if not any(map(file.is_relative_to, self.sources))]
        if hidden:
            folders = [str(file.parents[file.parent.name == "bin"]) for file in hidden]
            raise UsageError(
                f"Hosts do not see {hidden[0]}.", f"Name {' and '.join(folders)}: {_NAMING}."
            )

    def origin(self, program: str) -> str:
        """Return whose program hosts run, if the image has one of that name; else empty."""
        if program not in IMAGE_PROGRAMS:
            return ""
        if found := shutil.which(program, path=_OF_COMPUTER):
            return f"{program} is this computer's, {found}"
        return f"{program} is the lab image's, as this computer has none"

    def lack(self, program: str) -> str:
        """Return the sentences for a program that hosts do not find."""
        seen = f"Hosts see these folders of this computer: {', '.join(self.sources)}."
        if "/" not in program:
            found = shutil.which(program)
            remedy = f"Write its path: {found}." if found else f"Install {program} here."
        elif Path(program).exists():
            remedy = f"The interpreter in the first line of {program} is in none of them."
        else:
            remedy = f"{program} is in none of them. Name its folder: {_NAMING}."
        return f"{seen} {remedy}"


OF_IMAGE = HostFolders(
    ("/usr", "/etc"), ("/etc",), tuple((link, f"usr{link}") for link in _LINKS), of_image=True
)
"""Folders of the lab's image, which are the same on each computer."""


def folders_for(
    project: Path,
    more: Iterable[Path] = (),
    root: Path | str | None = None,
    copies: Path | None = None,
) -> VisibleFolders:
    """Return what programs see, copied if private: system, project, `more`. Raises UsageError."""
    others = sorted({folder.resolve() for folder in (project, *more)})
    system = _tree(Path(root).resolve(), others) if root else _this_system()
    sources = {**system.sources, **{str(folder): folder for folder in others}}
    # Sorted, so that an outer one is mounted first; those in another are not mounted.
    places = sorted(map(Path, sources))
    inner = {path for path in places if any(path.is_relative_to(o) for o in places if o != path)}
    seen = {str(path): sources[str(path)] for path in places if path not in inner}
    for number, folder in enumerate(others):
        if copies and seen.get(str(folder)) == folder and folder.is_dir() and not _is_seen(folder):
            seen[str(folder)] = readable_copy(folder, copies / f"copy{number}")
            others = [each for each in others if each != folder]
    for folder in (*others, *seen.values()):
        _require_readable(folder)
    written = [str(project.resolve()), *system.written]
    return VisibleFolders(seen, tuple(place for place in seen if place in written), system.links)


def _this_system() -> VisibleFolders:
    wanted = [*_SYSTEM, sys.prefix, sys.base_prefix]
    wanted += [link for link in _LINKS if not Path(link).is_symlink()]
    # pytest in a host loads the plugin of a checkout that is installed as editable.
    wanted += [str(CODE)] if _is_seen(CODE) else []
    found = (Path(place).resolve() for place in wanted if Path(place).is_dir())
    links = tuple((link, os.readlink(link)) for link in _LINKS if Path(link).is_symlink())
    return VisibleFolders({str(folder): folder for folder in found}, ("/etc",), links)


def _tree(root: Path, others: Sequence[Path]) -> VisibleFolders:
    """Return the folders of an unpacked system, such as a container's, that hide no `others`."""
    if not (root / "usr").is_dir() or not (root / "etc").is_dir():
        raise UsageError(
            f"{root} is no system: it has no folders usr and etc.",
            "Name a folder with an unpacked image, as `docker export` gives it to tar.",
        )
    entries = [entry for entry in sorted(root.iterdir()) if entry.name not in _OF_THE_GUEST]
    links = tuple((f"/{each.name}", os.readlink(each)) for each in entries if each.is_symlink())
    folders = [each for each in entries if each.is_dir() and not each.is_symlink()]
    hiding = {other.parts[1]: other for other in others if other.parts[1:]}
    for name in hiding.keys() & _NEEDED & {each.name for each in folders}:
        raise UsageError(
            f"{hiding[name]} cannot be seen next to /{name} of {root}.", "Move it, such as to /srv."
        )
    sources = {
        f"/{each.name}": each
        for each in folders
        if each.name not in hiding and (each.name in _NEEDED or _is_seen(each))
    }
    return VisibleFolders(sources, tuple(sources), links)


def environment(foreign: object = None) -> dict[str, str]:
    """Return the environment of programs, without features and random numbers of the processor."""
    return {
        "PATH": f"{_PATH if foreign else _OF_COMPUTER}:{IMAGE_PLACE}/bin",
        "HOME": "/root",
        "USER": "root",
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        "TZ": "UTC",
        "TMPDIR": "/tmp",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONUNBUFFERED": "1",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-POPCNT,-AVX512CD",
        **ENVIRONMENT,
    }


def _is_seen(folder: Path) -> bool:
    """As root starts it, a guest has another user; the folders above are bound without it."""
    if not ordinary_user():
        return os.access(folder, os.R_OK | os.X_OK)
    return stat.S_IMODE(folder.stat().st_mode) & _ALL == _ALL


_MOST = 1 << 30  # bytes of a copy


def readable_copy(folder: Path, copy: Path) -> Path:
    """Copy a private folder of root's for the guest's user. Raises UsageError for a large one."""
    inner = [entry for entry in folder.rglob("*") if not entry.is_symlink()]
    if (size := sum(entry.stat().st_size for entry in inner if entry.is_file())) > _MOST:
        raise UsageError(
            f"{folder} is private to root, and its {size >> 20:,} MiB are too much to copy.",
            f"Allow its user to read it: chmod o+rx {folder}",
        )
    shutil.copytree(folder, copy, symlinks=True, ignore=shutil.ignore_patterns(".tcplab"))
    run(["chmod", "--recursive", "go+rX", copy], check=True)
    return copy


def _require_readable(folder: Path) -> None:
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder.", "Name one that programs are to see.")
    if not _is_seen(folder):
        mode = stat.S_IMODE(folder.stat().st_mode)
        raise UsageError(
            f"{folder} has mode {mode:04o}, and its owner is another user than the guest's, who"
            " cannot read it.",
            f"Run as its owner, unless that is root, or allow it: chmod o+rx {folder}",
        )
