"""Where a kernel's source comes from: the user's own, the distribution's package, kernel.org.

`obtain` leaves the file with the pinned SHA-256 in the workshop, or else another that is
authenticated. That, like a source of the user's, gives another lab with other packets: it is noted,
it is in the manifest, and no run in it names a release.
"""

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from testbed.builds import FOLDER, Workshop
from testbed.builds.debian import Apt, Fetcher, FetchError, contents, proxies, read_lock
from testbed.lab.kernel import KernelVersion
from testbed.lab.kernel.choice import OwnSource
from topologies.errors import FREE_SPACE, TcplabError
from topologies.untrusted import digest_of

TARBALL = "source.tar"  # in the workshop; tar(1) finds out how it is compressed
_OTHER = "other.tar"


@dataclass(frozen=True)
class ObtainedSource:
    """A source: where it came from, its SHA-256, and whether it is a pinned file."""

    origin: str
    sha256: str
    pinned: bool


def obtain(
    workshop: Workshop, kernel: KernelVersion, own: OwnSource | None = None
) -> ObtainedSource:
    """Leave the source in the workshop as TARBALL. Raises TcplabError, CommandError."""
    if own:
        own.pack(workshop.folder / TARBALL)
        return _obtained(workshop, kernel, str(own))
    refusals, other = [], ""
    places = {
        "The installed package": installed,
        "The pinned package": from_pinned_package,
        "The package from the mirror": from_package,
        "kernel.org": from_kernel_org,
    }
    for name, place in places.items():
        try:
            origin = place(workshop, kernel)
        except TcplabError as error:
            if error.remedy == FREE_SPACE:
                raise
            refusals.append(f"{name}: {error}")
            continue
        if _is_pinned(workshop, kernel):
            return _obtained(workshop, kernel, origin)
        os.replace(workshop.folder / TARBALL, workshop.folder / _OTHER)
        other = origin
    if other:
        os.replace(workshop.folder / _OTHER, workshop.folder / TARBALL)
        return _obtained(workshop, kernel, other)
    raise TcplabError(
        f"No source of Linux {kernel.version} can be had here:\n  " + "\n  ".join(refusals) + "\n",
        f"Bring {kernel.url.rpartition('/')[2]} from another machine, and then"
        f" `./tcplab kernel build {kernel.series} --source FILE`.",
    )


def _obtained(workshop: Workshop, kernel: KernelVersion, origin: str) -> ObtainedSource:
    """Note in the report where the source came from, and whether it is the pinned file."""
    digest, is_pinned = digest_of(workshop.folder / TARBALL), _is_pinned(workshop, kernel)
    has_pin = kernel.sha256 or kernel.url_sha256
    another = "which is not the pinned file: this gives another lab"
    unlike = another if has_pin else f"of which no SHA-256 is pinned: {digest}"
    workshop.report.note(f"Source of the lab kernel: {origin}{'' if is_pinned else f', {unlike}'}")
    return ObtainedSource(origin, digest, is_pinned)


def _is_pinned(workshop: Workshop, kernel: KernelVersion) -> bool:
    return digest_of(workshop.folder / TARBALL) in (kernel.sha256, kernel.url_sha256)


def installed(workshop: Workshop, kernel: KernelVersion) -> str:
    """Copy the tarball of the installed package; return its path."""
    file = Path(f"/usr/src/{kernel.package}.tar.xz")
    if not kernel.package or not file.is_file():
        raise TcplabError(f"there is no {file if kernel.package else 'package of it'}.")
    shutil.copyfile(file, workshop.folder / TARBALL)
    return str(file)


def from_pinned_package(workshop: Workshop, kernel: KernelVersion) -> str:
    """Fetch the package from the mirror or an archive of past versions; return its name."""
    if not (lock := kernel.file("source.lock")).exists():
        raise TcplabError("no package is pinned.")
    ((package, content),) = contents(read_lock(lock), kernel.suite, workshop.report, bytes)
    (workshop.folder / package.file).write_bytes(content)
    return unpacked(workshop, workshop.folder / package.file)


def from_package(workshop: Workshop, kernel: KernelVersion) -> str:
    """Download the package from the mirror; return its name."""
    if not kernel.package:
        raise TcplabError("no distribution has it.")
    apt = Apt(workshop, kernel.suite)
    apt.update()
    return unpacked(workshop, apt.download(kernel.package))


def unpacked(workshop: Workshop, package: Path) -> str:
    """Take the tarball out of a linux-source package; return the package's file name."""
    tarball = f"./usr/src/{package.name.split('_')[0]}.tar.xz"
    extract = f'dpkg-deb --fsys-tarfile "$0" | tar -xO "$1" > {TARBALL}'
    command = ["bash", "-o", "pipefail", "-c", extract, f"{FOLDER}/{package.name}", tarball]
    workshop.run(f"Unpacking {package.name}", command)
    package.unlink()
    return unquote(package.name)


def from_kernel_org(workshop: Workshop, kernel: KernelVersion) -> str:
    """Download the tarball; its digest is pinned, or else trusted as far as TLS goes."""
    folder, _, name = kernel.url.rpartition("/")
    workshop.report.step(f"Downloading {name}")
    fetcher = Fetcher(proxies())
    try:
        content = fetcher.get(kernel.url)
        listed = "" if kernel.url_sha256 else fetcher.get(f"{folder}/sha256sums.asc").decode()
    except FetchError as error:
        raise TcplabError(f"{kernel.url} cannot be downloaded: {error}.") from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != kernel.url_sha256 and f"{digest}  {name}" not in listed.splitlines():
        raise TcplabError(f"{kernel.url} does not have the SHA-256 that is stated.")
    (workshop.folder / TARBALL).write_bytes(content)
    return kernel.url
