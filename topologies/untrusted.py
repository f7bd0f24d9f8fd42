"""Files that a guest or a hand-in left: the only reader of them.

A stranger may have put a link, a FIFO or an empty terabyte in their place. Each is opened below a
private folder, without following a link or waiting, only if regular, and read up to a limit.
"""

import errno
import hashlib
import os
import stat
import subprocess
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path, PurePath

from topologies.errors import TcplabError

MOST = 512 << 20  # bytes of a file that is read as a whole, unless its reader says otherwise
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER_FLAGS = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_REASONS = {
    **dict.fromkeys((errno.ELOOP, errno.ENOTDIR), "it leads elsewhere"),
    **dict.fromkeys((errno.ENXIO, errno.ENODEV, errno.EWOULDBLOCK), "it is no regular file"),
    errno.EACCES: "it is locked",
}
_WENT_AWAY = (FileNotFoundError, NotADirectoryError, PermissionError)  # or is locked


class StrangeFile(TcplabError):
    """A file that is not what a run or a hand-in leaves; `reason` says what is wrong with it."""

    def __init__(self, name: str | PurePath, reason: str) -> None:
        shown = repr(str(name)[-80:])
        super().__init__(f"{shown} cannot be read: {reason}.", "A run leaves regular files only.")
        self.reason = reason
        self.args = (str(name), reason)  # of which a copy is made


class TooLarge(StrangeFile):
    """A file with more bytes than its reader has room for."""


def opened(folder: Path, name: str | PurePath) -> BufferedReader:
    """Return the regular file `name` below `folder`, for reading; only `folder` may be a link.

    Raises FileNotFoundError, StrangeFile.
    """
    descriptor = _descriptor(folder, PurePath(name))
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise StrangeFile(name, "it is no regular file")
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def named(file: Path) -> BufferedReader:
    """Return the regular file that a user named, perhaps by a link. Raises OSError, StrangeFile."""
    real = file.resolve()
    return opened(real.parent, real.name)


def content(folder: Path, name: str | PurePath, most: int = MOST) -> bytes:
    """Return a whole file of at most `most` bytes. Raises FileNotFoundError, StrangeFile."""
    with opened(folder, name) as file:
        read = file.read(most + 1)
    if len(read) > most:
        raise TooLarge(name, f"it has more than {most:,} bytes")
    return read


def text(folder: Path, name: str | PurePath, most: int = MOST) -> str:
    """Return such a file as text; invalid UTF-8 becomes a replacement character."""
    return content(folder, name, most).decode(errors="replace")


def text_if_any(folder: Path, name: str | PurePath) -> str:
    """Return such a file as text, empty if it is absent. Raises StrangeFile."""
    try:
        return text(folder, name)
    except FileNotFoundError:
        return ""


def tail(folder: Path, name: str | PurePath, most: int) -> str:
    """Return the last `most` bytes of a file as text. Raises FileNotFoundError, StrangeFile."""
    with opened(folder, name) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - most))
        return file.read(most).decode(errors="replace")


def tail_if_any(folder: Path, name: str | PurePath, most: int) -> str:
    """Return such a tail, empty of what is no regular file."""
    return tail(folder, name, most) if is_file(folder, name) else ""


def digest(folder: Path, name: str | PurePath) -> str:
    """Return the SHA-256 of a file in hexadecimal digits. Raises FileNotFoundError, StrangeFile."""
    with opened(folder, name) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file of our own, to which links may lead."""
    real = file.resolve()
    return digest(real.parent, real.name)


def plain(words: str) -> str:
    """Return a stranger's words without control characters but ends of lines."""
    return "".join(letter for letter in words if letter.isprintable() or letter == "\n")


def is_file(folder: Path, name: str | PurePath) -> bool:
    """Return whether there is a regular file that can be read."""
    try:
        opened(folder, name).close()
    except (OSError, StrangeFile):
        return False
    return True


def entries(folder: Path, deepest: int, most: int) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield what is below a folder, each folder before what is in it; links are not followed.

    The walk ends at `deepest` levels and after `most` entries; those that vanish are passed over.
    """
    left = most
    waiting = [(folder, 1)]
    while waiting:
        place, depth = waiting.pop()
        for entry in _scanned(place):
            if left <= 0:
                return
            left -= 1
            try:
                status = entry.stat(follow_symlinks=False)
            except _WENT_AWAY:
                continue
            yield Path(entry.path), status
            if depth < deepest and stat.S_ISDIR(status.st_mode):
                waiting.append((Path(entry.path), depth + 1))


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, however deep, by descriptors (rm(1), chmod(1))."""
    if path.is_dir() and not path.is_symlink():
        _run("chmod", "-R", "u+rwX", "--", str(path))
    is_busybox = subprocess.run(["rm", "--version"], capture_output=True, check=False).returncode
    staying = [] if is_busybox else ["--one-file-system"]
    _run("rm", "-rf", *staying, "--", str(path))


def _scanned(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listed:
            yield from listed
    except _WENT_AWAY:
        return  # it counts as itself


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        problem = f"{command[-1]} cannot be removed: {done.stderr.strip()[-300:]}"
        raise TcplabError(problem, "Remove it by hand.")


def _descriptor(folder: Path, name: PurePath) -> int:
    """Open a file one component after the other: no link can lead out of the folder."""
    if not name.parts or name.is_absolute() or ".." in name.parts:
        raise StrangeFile(name, "it leads elsewhere")
    *folders, last = name.parts
    place = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for inner in folders:
            outer, place = place, os.open(inner, _FOLDER_FLAGS, dir_fd=place)
            os.close(outer)
        return os.open(last, _FLAGS, dir_fd=place)
    except OSError as error:
        if reason := _REASONS.get(error.errno or 0):
            raise StrangeFile(name, reason) from None
        raise
    finally:
        os.close(place)
