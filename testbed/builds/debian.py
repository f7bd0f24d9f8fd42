"""Debian packages by name, version and SHA-256, fetched and unpacked by Python alone.

A first start works without apt, dpkg, tar, root and namespaces; apt only names the mirror and the
proxy. A lock has its day and a line for each package; `tcplab lock --update` writes it. New locks
and kernel sources need apt, as an ordinary user, which checks a suite's list by the distribution's
keyring; the machine is not changed.
"""

import functools
import gzip
import hashlib
import io
import lzma
import os
import re
import shutil
import socket
import tarfile
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit

from testbed.builds import ENVIRONMENT, FOLDER, BuildReport, Workshop
from testbed.guest.programs import run
from topologies.errors import TcplabError

_PATIENCE = 30.0  # seconds without a byte


class FetchError(Exception):
    """A server's refusal, as text."""


class SilentServer(FetchError):
    """A server that could not be reached."""


class Fetcher:
    """Files by HTTP, through proxies by scheme (urllib.request.getproxies)."""

    def __init__(self, proxies: Mapping[str, str]) -> None:
        self._proxies = proxies
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler(dict(proxies)))

    def get(self, url: str) -> bytes:
        """Return the content. Raises FetchError."""
        try:
            with self._opener.open(url, timeout=_PATIENCE) as answer:
                return bytes(answer.read())
        except HTTPError as error:
            raise FetchError(f"HTTP status {error.code}") from error
        except URLError as error:
            proxy = urlsplit(self._proxies.get(urlsplit(url).scheme, ""))
            way = f", by the proxy {proxy.hostname}:{proxy.port}" if proxy.hostname else ""
            raise SilentServer(f"{error.reason}{way}") from error
        except ValueError as error:
            raise SilentServer(str(error)) from error
        except (OSError, HTTPException) as error:
            raise FetchError(str(error) or type(error).__name__) from error


@contextmanager
def _names_asked_once() -> Iterator[None]:
    """Look each server's address up once: urllib asks for it with each file.

    Name servers that limit their answers made 124 packages take 25 s instead of 1.
    """
    lookup = socket.getaddrinfo
    socket.getaddrinfo = functools.cache(lookup)
    try:
        yield
    finally:
        socket.getaddrinfo = lookup


_HEAD = "# name, version, SHA-256, place on a mirror of Debian; as of "
SNAPSHOT = "https://snapshot.debian.org/archive/debian"
"""Debian's archive of all that it ever published, below the time of a publication."""
PUBLIC = "https://deb.debian.org/debian"  # Debian's public mirror, for systems whose apt knows none
_AT_ONCE = 8  # connections to a mirror
_DECOMPRESS: dict[str, Callable[[bytes], bytes]]
_DECOMPRESS = {"data.tar.xz": lzma.decompress, "data.tar.gz": gzip.decompress, "data.tar": bytes}
_OFFLINE = (
    "Connect this computer to a network, or name a mirror that it reaches in TCPLAB_MIRROR. The"
    " archive of a release needs none (docs/start/installing.md)."
)
_NO_PAST = (
    "Name another archive of Debian's past versions in TCPLAB_SNAPSHOT, or take a release:"
    " `tcplab image import FILE`."
)


@dataclass(frozen=True, order=True)
class LockedPackage:
    """A .deb; `place` is its path below a mirror's root."""

    name: str
    version: str
    sha256: str
    place: str

    @property
    def file(self) -> str:
        return self.place.rpartition("/")[2]


@dataclass(frozen=True)
class PackageLock:
    """The packages by name, and the day (YYYY-MM-DD) on which a mirror had all of them."""

    day: str
    packages: tuple[LockedPackage, ...]

    @property
    def versions(self) -> dict[str, str]:
        return {package.name: package.version for package in self.packages}


def read_lock(file: Path) -> PackageLock:
    head, *rows = file.read_text().splitlines()
    packages = (LockedPackage(*row.split()) for row in rows)
    return PackageLock(head.removeprefix(_HEAD), tuple(packages))


def write_lock(file: Path, day: str, packages: Iterable[LockedPackage]) -> None:
    """Write a lock, sorted by name."""
    rows = (" ".join(astuple(package)) for package in sorted(packages))
    file.write_text("\n".join([_HEAD + day, *rows]) + "\n")


def tar_of(deb: bytes) -> bytes:
    """Return the tar of a package's files; a .deb is an ar(5) archive. Raises TcplabError."""
    offset = 8
    while offset < len(deb):
        name, size = deb[offset : offset + 16].decode().strip(" /"), int(deb[offset + 48 :][:10])
        if name in _DECOMPRESS:
            return _DECOMPRESS[name](deb[offset + 60 : offset + 60 + size])
        offset += 60 + size + size % 2
    problem = "A package of Debian is not compressed by xz or gzip."
    raise TcplabError(problem, "Use dpkg-deb to unpack it.")


def contents(
    lock: PackageLock, suite: str, report: BuildReport, treat: Callable[[bytes], bytes] = tar_of
) -> Iterator[tuple[LockedPackage, bytes]]:
    """Yield packages with their .deb, fetched by threads, after `treat`. Raises TcplabError."""
    source = _Source(archives(suite, lock.day), Fetcher(proxies()))
    count = len(lock.packages)
    named = f"{count} packages of Debian" if count > 1 else lock.packages[0].name
    text = f"Fetching {named} (once)"
    report.step(text)
    with _names_asked_once(), ThreadPoolExecutor(_AT_ONCE) as pool:
        made = pool.map(lambda package: treat(source.fetch(package)), lock.packages)
        try:
            for number, (package, content) in enumerate(zip(lock.packages, made, strict=True), 1):
                yield package, content
                report.step(text, number / count)
        finally:
            pool.shutdown(cancel_futures=True)


class _Source:
    """Archives in the order of their use; one that does not answer is asked once."""

    def __init__(self, roots: Sequence[str], fetcher: Fetcher) -> None:
        self.roots, self.fetcher = [root.rstrip("/") for root in roots], fetcher
        self.silent: dict[str, str] = {}

    def fetch(self, package: LockedPackage) -> bytes:
        """Return the .deb of the first archive that has it. Raises TcplabError."""
        refusals: dict[str, str] = {}
        for root in self.roots:
            if root not in self.silent:
                try:
                    content = self.fetcher.get(f"{root}/{package.place}")
                    if hashlib.sha256(content).hexdigest() == package.sha256:
                        return content
                    refusals[root] = "it has another file of that name"
                except SilentServer as error:
                    self.silent[root] = str(error)
                except FetchError as error:
                    refusals[root] = str(error)
        every = {**self.silent, **refusals}
        reasons = "; ".join(f"{root}: {reason}" for root, reason in every.items())
        if len(self.silent) == len(self.roots):
            raise TcplabError(f"No mirror of Debian answers ({reasons}).", _OFFLINE)
        problem = f"No mirror here has {package.name} {package.version} ({reasons})."
        raise TcplabError(problem, _NO_PAST)


def extract(packed: bytes, root: Path, is_kept: Callable[[str], bool] = bool) -> None:
    """Write the files of a package's tar that are kept below `root`, as dpkg does."""
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        # The digest vouches for the archive, whose links are absolute: no filter (Python 3.12).
        archive.extraction_filter = lambda member, _path: member
        for member in archive:
            member.name = member.name.removeprefix("./").strip("/") or "."
            if is_kept(member.name):
                archive.extract(member, root, set_attrs=False)
                if not member.issym():
                    (root / member.name).chmod(member.mode)


def archives(suite: str, day: str) -> list[str]:
    """Return $TCPLAB_MIRROR or apt's mirror, the public one, and $TCPLAB_SNAPSHOT of that day."""
    security = "-security" if suite.endswith("-security") else ""
    past = (os.environ.get("TCPLAB_SNAPSHOT") or SNAPSHOT).rstrip("/")
    past += security if past == SNAPSHOT else ""
    near = mirror(suite)
    public = PUBLIC + security
    return list(dict.fromkeys([near or public, public, f"{past}/{day.replace('-', '')}T235959Z"]))


def mirror(suite: str) -> str:
    """Return the mirror: $TCPLAB_MIRROR, else apt's of the suite or of its release, or ''."""
    if chosen := os.environ.get("TCPLAB_MIRROR"):
        return chosen
    # Of this machine's apt: code name of a Debian suite (bookworm, bookworm-security) -> URI.
    columns = "$(ORIGIN) $(CODENAME) $(REPO_URI)"
    listed = apt_output("apt-get", "indextargets", "--format", columns, "Created-By: Packages")
    rows = [line.split() for line in listed.splitlines() if line.startswith("Debian ")]
    uris = {row[1]: row[2] for row in rows if len(row) == 3}
    releases = (uri for name, uri in uris.items() if "-" not in name)
    return uris.get(suite) or ("" if suite.endswith("-security") else next(releases, ""))


def proxies() -> dict[str, str]:
    """Return the proxies of the environment, or else of apt, by scheme."""
    found = urllib.request.getproxies()
    for scheme in ("http", "https"):
        stated = apt_output("apt-config", "dump", "--format", "%v%n", f"Acquire::{scheme}::Proxy")
        address = next(iter(stated.splitlines()), "")
        if address and address != "DIRECT":
            found.setdefault(scheme, address)
    return found


def apt_output(*command: str) -> str:
    """Return the output of a program of apt, '' on a system without. Raises CommandError."""
    if not shutil.which(command[0], path=ENVIRONMENT["PATH"]):
        return ""
    return run(command, environment=ENVIRONMENT)


KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
CONFIGURATION = Path(__file__).with_name("apt.txt").read_text().replace("FOLDER", FOLDER)
_URI = re.compile(r"(?m)^'([^']+)' (\S+) \d+ SHA256:([0-9a-f]{64})$")
_APT_ENVIRONMENT = {"APT_CONFIG": f"{FOLDER}/apt/apt.conf", "DEBIAN_FRONTEND": "noninteractive"}


@dataclass(frozen=True)
class Apt:
    """apt for one suite in a workshop."""

    workshop: Workshop
    suite: str

    def update(self) -> None:
        """Fetch the suite's list of packages. Raises TcplabError, CommandError."""
        if not Path(KEYRING).exists():
            problem = f"{KEYRING} is missing: packages from a Debian mirror cannot be verified."
            raise TcplabError(problem, "Install the package debian-archive-keyring.")
        folder = self.workshop.folder / "apt"
        shutil.rmtree(folder, ignore_errors=not folder.exists())
        (folder / "lists/partial").mkdir(parents=True)
        (folder / "archives/partial").mkdir(parents=True)
        (folder / "status").touch()
        source = f"deb [signed-by={KEYRING}] {self._mirror()} {self.suite} main\n"
        (folder / "sources.list").write_text(source)
        # The machine's proxies, certificates and time-outs.
        lines = apt_output("apt-config", "dump", "Acquire").splitlines(keepends=True)
        network = (line for line in lines if not line.startswith("Acquire::IndexTargets"))
        (folder / "apt.conf").write_text(CONFIGURATION + "".join(network))
        command = ["apt-get", "-q", "update", "--error-on=any"]
        self._run(f"Fetching the package list of {self.suite}", command)

    def _mirror(self) -> str:
        if uri := mirror(self.suite):
            return uri
        problem = f"This machine's apt knows no Debian mirror for {self.suite}."
        raise TcplabError(problem, "Name one in TCPLAB_MIRROR.")

    def download(self, package: str) -> Path:
        """Return the .deb of one package, without what it depends on."""
        self._run(f"Downloading {package}", ["apt-get", "-q", "download", package])
        return next(self.workshop.folder.glob(f"{package}_*.deb"))

    def resolve(self, wanted: Sequence[str]) -> list[LockedPackage]:
        """Return a mirror's versions of packages and of all that they depend on."""
        self.update()
        options = ["-qq", "-o", "Acquire::ForceHash=SHA256", "--print-uris", "--yes"]
        printed = self._run("Resolving", ["apt-get", *options, "install", *wanted])
        return list(_locked(printed, self._mirror()))

    def _run(self, text: str, command: Sequence[str]) -> str:
        """Run a program of apt with the workshop's configuration. Raises CommandError."""
        return self.workshop.run(text, command, environment=_APT_ENVIRONMENT, network=True)


def _locked(printed: str, root: str) -> Iterator[LockedPackage]:
    """Yield the lines of apt-get --print-uris: 'URI' FILE SIZE SHA256:DIGEST."""
    for uri, file, sha256 in _URI.findall(printed):
        name, version, _ = unquote(file).split("_")
        yield LockedPackage(name, version, sha256, uri.removeprefix(root).lstrip("/"))
