"""Where the kernel's source comes from: a given tarball, the distribution's package, kernel.org.

`obtain` leaves it in the workshop as source.tar.xz. A tarball with a pinned SHA-256 is `pinned`.
Others are used if something else vouches for them, and the manifest says so: the user who named
the file, apt's signature on a newer package, kernel.org's list beside a tarball. The patch and the
check of lab.config decide whether such a source can be used.
"""

from __future__ import annotations

import shutil
import tomllib
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

from testbed.recipes.apt import Apt
from testbed.recipes.building import Workshop
from topologies.errors import TcplabError
from topologies.untrusted import digest_of

HERE = Path(__file__).parent
SOURCES = HERE / "sources.toml"
TARBALL = "source.tar.xz"


@dataclass(frozen=True)
class PinnedSource:
    """sources.toml. `steps` is the number of lines that a build prints."""

    version: str
    package: str
    package_version: str
    suite: str
    sha256: str
    url: str
    url_sha256: str
    steps: int


@dataclass(frozen=True)
class ObtainedSource:
    """A source: where it came from, its SHA-256, and whether it is a pinned file."""

    origin: str
    sha256: str
    pinned: bool


def pinned() -> PinnedSource:
    """The kernel that is pinned."""
    return PinnedSource(**tomllib.loads(SOURCES.read_text()))


def obtain(workshop: Workshop, given: Path | None) -> ObtainedSource:
    """Leave the source in the workshop, from the first place that has it. Raises TcplabError."""
    if given:
        return found(workshop, str(given), from_file(workshop, given))
    refusals = []
    for place in (installed, from_package, from_kernel_org, from_newer_package):
        try:
            return found(workshop, place(workshop, pinned()), workshop.folder / TARBALL)
        except TcplabError as error:
            refusals.append(f"{(place.__doc__ or '').split('.')[0]}: {error}")
    problem = "No kernel source can be had here:\n  " + "\n  ".join(refusals) + "\n"
    raise TcplabError(problem, "Name a linux-VERSION.tar.xz in TCPLAB_KERNEL_SOURCE.")


def found(workshop: Workshop, origin: str, tarball: Path) -> ObtainedSource:
    """Note in the report where the source came from, and whether it is the pinned file."""
    digest = digest_of(tarball)
    is_pinned = digest in (pinned().sha256, pinned().url_sha256)
    workshop.report.note(
        f"Source of the lab kernel: {origin}{'' if is_pinned else ', which is not the pinned file'}"
    )
    return ObtainedSource(origin, digest, is_pinned)


def from_file(workshop: Workshop, given: Path) -> Path:
    """The file the user named."""
    if not given.is_file():
        raise TcplabError(
            f"{given} is not a file.",
            "TCPLAB_KERNEL_SOURCE and --source want a linux-VERSION.tar.xz.",
        )
    return Path(shutil.copyfile(given, workshop.folder / TARBALL))


def installed(workshop: Workshop, kernel: PinnedSource) -> str:
    """The installed package."""
    file = Path(f"/usr/src/{kernel.package}.tar.xz")
    if not file.is_file():
        raise TcplabError(f"there is no {file}.")
    shutil.copyfile(file, workshop.folder / TARBALL)
    return str(file)


def from_package(workshop: Workshop, kernel: PinnedSource) -> str:
    """The package from the mirror."""
    apt = Apt(workshop, kernel.suite)
    apt.update()
    return unpacked(workshop, apt.download(kernel.package))


def from_newer_package(workshop: Workshop, kernel: PinnedSource) -> str:
    """A newer package from the mirror."""
    apt = Apt(workshop, kernel.suite)
    apt.update()
    offered = [
        name
        for name in apt.names("^linux-source-[0-9.]+$")
        if series(name) > series(kernel.package)
    ]
    if not offered:
        raise TcplabError(f"{kernel.suite} has none.")
    return unpacked(workshop, apt.download(max(offered, key=series)))


def series(package: str) -> tuple[int, ...]:
    """linux-source-7.2 -> (7, 2)"""
    return tuple(int(part) for part in package.removeprefix("linux-source-").split("."))


def unpacked(workshop: Workshop, package: Path) -> str:
    """Take the tarball out of a linux-source package; return the package's file name."""
    tarball = f"./usr/src/{package.name.split('_')[0]}.tar.xz"
    extract = f'dpkg-deb --fsys-tarfile "$0" | tar -xO "$1" > {TARBALL}'
    workshop.run(
        f"Unpacking {package.name}",
        ["bash", "-o", "pipefail", "-c", extract, package.name, tarball],
    )
    package.unlink()
    return package.name


def from_kernel_org(workshop: Workshop, kernel: PinnedSource) -> str:
    """kernel.org."""
    folder, _, name = kernel.url.rpartition("/")
    digest = kernel.url_sha256 or published_digest(f"{folder}/sha256sums.asc", name)
    target = workshop.folder / TARBALL
    download(kernel.url, target, lambda share: workshop.report.step(f"Downloading {name}", share))
    if digest_of(target) != digest:
        raise TcplabError(f"{kernel.url} does not have the SHA-256 {digest}.")
    return kernel.url


def published_digest(url: str, name: str) -> str:
    """The SHA-256 that kernel.org's list states for a file, trusted as far as TLS goes.

    Raises TcplabError.
    """
    try:
        with urllib.request.urlopen(url, timeout=30) as reply:
            rows = [line.split() for line in reply.read().decode().splitlines()]
    except (URLError, OSError) as error:
        raise TcplabError(f"{url} cannot be read: {error}.") from error
    digests = [row[0] for row in rows if len(row) == 2 and row[1] == name]
    if not digests:
        raise TcplabError(f"{url} does not list {name}.")
    return str(digests[0])


def download(url: str, target: Path, progress: Callable[[float], None]) -> None:
    """Fetch a URL into a file; `progress` hears the share that is done. Raises TcplabError."""
    try:
        with urllib.request.urlopen(url, timeout=30) as reply, target.open("wb") as stream:
            size = int(reply.headers.get("Content-Length") or 0)
            while block := reply.read(1 << 20):
                stream.write(block)
                progress(stream.tell() / size if size else 0.0)
    except (URLError, OSError) as error:
        raise TcplabError(f"{url} cannot be downloaded: {error}.") from error
