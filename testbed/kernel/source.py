"""Where the kernel's source comes from: a given tarball, the distribution's package, kernel.org.

`obtain` leaves it in the workshop as source.tar.xz. A tarball with a pinned SHA-256 is `pinned`. Others are used
where something else vouches for them, and the manifest says so: the user who named the file, apt's signature on
a package that has moved on within its series, kernel.org's list beside a tarball.
"""

from __future__ import annotations

import os
import shutil
import tomllib
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError

from testbed.apt import Apt
from testbed.building import Workshop
from testbed.cache import sha256
from topologies.errors import TcplabError

HERE = Path(__file__).parent
SOURCES = HERE / "sources.toml"
TARBALL = "source.tar.xz"


@dataclass(frozen=True)
class Series:
    """One pinned kernel: a table of sources.toml. `steps` is the number of lines its build prints."""

    name: str
    version: str
    package: str
    package_version: str
    suite: str
    sha256: str
    url: str
    url_sha256: str
    patches: tuple[str, ...]
    seccomp: bool
    steps: int


@dataclass(frozen=True)
class Source:
    """A tarball that was found: where, what it is, and whether it is the pinned one."""

    series: Series
    origin: str
    sha256: str
    pinned: bool


def all_series() -> list[Series]:
    """The pinned kernels, the default first; $TCPLAB_KERNEL leaves only that series. Raises TcplabError."""
    table = tomllib.loads(SOURCES.read_text())
    tables = {name: Series(name, **{**row, "patches": tuple(row["patches"])}) for name, row in table["series"].items()}
    chosen = os.environ.get("TCPLAB_KERNEL")
    if chosen and chosen not in tables:
        raise TcplabError(f"TCPLAB_KERNEL={chosen}: no such kernel.", f"sources.toml has {', '.join(tables)}.")
    default = chosen or table["default"]
    others = [] if chosen else [series for name, series in tables.items() if name != default]
    return [tables[default], *others]


def obtain(workshop: Workshop, given: Path | None) -> Source:
    """Fetch the source: the given file, or of each series the first place that has it. Raises TcplabError."""
    if given:
        return from_file(workshop, given)
    refusals = []
    for series in all_series():
        for place in (installed, from_package, from_kernel_org):
            try:
                found = place(workshop, series)
            except TcplabError as error:
                refusals.append(f"{series.name}, {(place.__doc__ or '').split('.')[0]}: {error}")
                continue
            announce(workshop, found, refusals)
            return found
    problem = "No kernel source can be had here:\n  " + "\n  ".join(refusals) + "\n"
    raise TcplabError(problem, "Name a linux-VERSION.tar.xz in TCPLAB_KERNEL_SOURCE.")


def announce(workshop: Workshop, source: Source, refusals: list[str]) -> None:
    """Tell what is used, and what was not to be had if that makes it another series than the default."""
    pinned = "" if source.pinned else " (not the pinned file: see the manifest)"
    if source.series != all_series()[0]:
        workshop.report.note("\n".join(refusals))
    workshop.report.note(f"Linux {source.series.name} from {source.origin}{pinned}")


def from_file(workshop: Workshop, given: Path) -> Source:
    """The file the user named."""
    if not given.is_file():
        raise TcplabError(f"{given} is not a file.", "TCPLAB_KERNEL_SOURCE and --source want a linux-*.tar.xz.")
    shutil.copyfile(given, workshop.folder / TARBALL)
    digest = sha256(given)
    every = all_series()
    series = next((one for one in every if digest in (one.sha256, one.url_sha256)), None)
    named = next((one for one in every if f"-{one.name}." in given.name), every[0])
    return Source(series or named, str(given), digest, pinned=series is not None)


def installed(workshop: Workshop, series: Series) -> Source:
    """The installed package."""
    file = Path(f"/usr/src/{series.package}.tar.xz")
    if not file.is_file():
        raise TcplabError(f"there is no {file}.")
    shutil.copyfile(file, workshop.folder / TARBALL)
    return checked(workshop, series, str(file), series.sha256)


def from_package(workshop: Workshop, series: Series) -> Source:
    """The package from the mirror."""
    shutil.rmtree(workshop.folder / "apt", ignore_errors=True)
    apt = Apt(workshop, series.suite)
    apt.update()
    package = apt.download(series.package)
    extract = f'dpkg-deb --fsys-tarfile "$0" | tar -xO ./usr/src/{series.package}.tar.xz > {TARBALL}'
    workshop.run(f"Unpacking {package.name}", ["bash", "-o", "pipefail", "-c", extract, package.name])
    package.unlink()
    return checked(workshop, series, package.name, series.sha256)


def from_kernel_org(workshop: Workshop, series: Series) -> Source:
    """kernel.org."""
    folder, _, name = series.url.rpartition("/")
    target = workshop.folder / TARBALL
    digest = series.url_sha256 or published_digest(f"{folder}/sha256sums.asc", name)
    download(series.url, target, lambda share: workshop.report.step(f"Downloading {name}", share))
    if sha256(target) != digest:
        raise TcplabError(f"{series.url} does not have the SHA-256 {digest}.")
    return checked(workshop, series, series.url, series.url_sha256)


def checked(workshop: Workshop, series: Series, origin: str, expected: str) -> Source:
    """The tarball in the workshop with its digest beside the pinned one."""
    digest = sha256(workshop.folder / TARBALL)
    return Source(series, origin, digest, digest == expected)


def published_digest(url: str, name: str) -> str:
    """The SHA-256 that kernel.org's list states for a file, trusted as far as TLS goes. Raises TcplabError."""
    try:
        with urllib.request.urlopen(url, timeout=30) as reply:
            rows = [line.split() for line in reply.read().decode().splitlines()]
    except (URLError, OSError) as error:
        raise TcplabError(f"{url} cannot be read: {error}.") from error
    found = [row[0] for row in rows if len(row) == 2 and row[1] == name]
    if not found:
        raise TcplabError(f"{url} does not list {name}.")
    return found[0]


def download(url: str, target: Path, told: Callable[[float], None]) -> None:
    """Fetch a URL into a file; `told` hears the share that is done. Raises TcplabError."""
    try:
        with urllib.request.urlopen(url, timeout=30) as reply, target.open("wb") as stream:
            size = int(reply.headers.get("Content-Length") or 0)
            while block := reply.read(1 << 20):
                stream.write(block)
                told(stream.tell() / size if size else 0.0)
    except (URLError, OSError) as error:
        raise TcplabError(f"{url} cannot be downloaded: {error}.") from error
