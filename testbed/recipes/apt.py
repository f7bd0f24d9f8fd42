"""Debian packages, fetched by apt as an ordinary user, by name, version and SHA-256.

apt has a separate configuration and uses this machine's mirror; the machine is not changed. The
signature of a suite's list is checked against the distribution's keyring. Packages of a lock are
checked by SHA-256 and need no signature.

A lock is a text file with a line for each package; its first line has its day. `tcplab lock
--update` writes it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from urllib.parse import unquote

from testbed.host.processes import output_of
from testbed.recipes.building import ENVIRONMENT, FOLDER, Workshop
from topologies.foundation.errors import CommandError, TcplabError
from topologies.foundation.untrusted import digest_of

_HEAD = "# name, version, SHA-256, place on a mirror of Debian; as of "


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

    def is_whole_in(self, folder: Path) -> bool:
        """Check that a folder has its file."""
        file = folder / self.file
        return file.is_file() and digest_of(file) == self.sha256


@dataclass(frozen=True)
class PackageLock:
    """The packages by name, and the day (YYYY-MM-DD) on which a mirror had all of them."""

    day: str
    packages: tuple[LockedPackage, ...]

    @property
    def versions(self) -> dict[str, str]:
        """Name to version."""
        return {package.name: package.version for package in self.packages}


def read_lock(file: Path) -> PackageLock:
    """Return the lock in a file."""
    head, *rows = file.read_text().splitlines()
    packages = (LockedPackage(*row.split()) for row in rows)
    return PackageLock(head.removeprefix(_HEAD), tuple(packages))


def write_lock(file: Path, day: str, packages: Iterable[LockedPackage]) -> None:
    """Write a lock, sorted by name."""
    rows = (" ".join(astuple(package)) for package in sorted(packages))
    file.write_text("\n".join([_HEAD + day, *rows]) + "\n")


KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
CONFIGURATION = f"""\
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::sourcelist "{FOLDER}/apt/sources.list";
Dir::State "{FOLDER}/apt";
Dir::State::status "{FOLDER}/apt/status";
Dir::Cache "{FOLDER}/apt";
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
"""
_URI = re.compile(r"(?m)^'([^']+)' (\S+) \d+ SHA256:([0-9a-f]{64})$")
_NO_PAST = (
    "Check the network, name another archive of Debian's past versions in TCPLAB_SNAPSHOT, or take"
    " a release: `tcplab image import FILE`."
)
SNAPSHOT = "https://snapshot.debian.org/archive/debian"
"""Debian's archive of all that it ever published, below the time of a publication."""
PUBLIC = "https://deb.debian.org/debian"
"""Debian's public mirror, for systems whose apt knows none."""
_NAMED = 5  # missing packages
_ENVIRONMENT = {"APT_CONFIG": f"{FOLDER}/apt/apt.conf", "DEBIAN_FRONTEND": "noninteractive"}


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
        self._prepare(f"deb [signed-by={KEYRING}] {mirror(self.suite)} {self.suite} main\n")
        command = ["apt-get", "-q", "update", "--error-on=any"]
        self._run(f"Fetching the package list of {self.suite}", command)

    def _prepare(self, sources: str = "") -> None:
        """Give apt a folder and a configuration of its own, with these lines of sources.list."""
        folder = self.workshop.folder / "apt"
        shutil.rmtree(folder, ignore_errors=not folder.exists())
        (folder / "lists/partial").mkdir(parents=True)
        (folder / "archives/partial").mkdir(parents=True)
        (folder / "status").touch()
        (folder / "sources.list").write_text(sources)
        (folder / "apt.conf").write_text(CONFIGURATION + download_settings())

    def download(self, package: str) -> Path:
        """Return the .deb of one package, without what it depends on."""
        self._run(f"Downloading {package}", ["apt-get", "-q", "download", package])
        return next(self.workshop.folder.glob(f"{package}_*.deb"))

    def resolve(self, packages: Sequence[str]) -> list[LockedPackage]:
        """Return a mirror's versions of packages and of all that they depend on."""
        self.update()
        options = ["-qq", "-o", "Acquire::ForceHash=SHA256", "--print-uris", "--yes"]
        printed = self._run("Resolving", ["apt-get", *options, "install", *packages])
        return list(_locked(printed, mirror(self.suite)))

    def download_locked(self, lock: PackageLock) -> list[Path]:
        """Return the .deb files of a lock, of any archive that has them. Raises TcplabError."""
        self._prepare()
        folder, said = self.workshop.folder / "apt/archives", ""
        missing = list(lock.packages)
        for root in archives(self.suite, lock.day):
            command = ["/usr/lib/apt/apt-helper", "-q", "download-file"]
            for package in missing:
                address = f"{root.rstrip('/')}/{package.place}"
                target = f"{FOLDER}/apt/archives/{package.file}"
                command += [address, target, f"SHA256:{package.sha256}"]
            try:
                self._run("Downloading the locked packages", command)
            except CommandError as error:  # the next archive may have what this one has not
                said = "\n" + next(re.finditer("(?m)^E:.*", error.output), [error.output])[0]
            missing = [package for package in missing if not package.is_whole_in(folder)]
            if not missing:
                return [folder / package.file for package in lock.packages]
        names = ", ".join(f"{package.name} {package.version}" for package in missing[:_NAMED])
        names += f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
        raise TcplabError(f"No mirror here has {names}.{said}", _NO_PAST)

    def names(self, pattern: str) -> list[str]:
        """Return the packages of the suite whose name matches a regular expression."""
        command = ["apt-cache", "search", "--names-only", pattern]
        listed = self._run("Reading the package list", command)
        return [line.split()[0] for line in listed.splitlines()]

    def _run(self, text: str, command: Sequence[str]) -> str:
        """Run a program of apt with the workshop's configuration. Raises CommandError."""
        return self.workshop.run(text, command, environment=_ENVIRONMENT, network=True)


def mirror(suite: str) -> str:
    """Return the mirror: $TCPLAB_MIRROR, else apt's of the suite, else apt's of its release."""
    uris = repositories()
    releases = [uri for name, uri in uris.items() if "-" not in name]
    chosen = os.environ.get("TCPLAB_MIRROR") or uris.get(suite) or next(iter(releases), "")
    if not chosen or (suite.endswith("-security") and suite not in uris):
        remedy = (
            "Import a release, ./tcplab image import FILE (docs/start/installing.md), or name"
            " a mirror in TCPLAB_MIRROR."
        )
        raise TcplabError(f"This machine's apt knows no Debian mirror for {suite}.", remedy)
    return chosen


def archives(suite: str, day: str) -> list[str]:
    """Return the mirror, and its state of a day in an archive that keeps all.

    The archive is $TCPLAB_SNAPSHOT, by default Debian's own.
    """
    security = "-security" if suite.endswith("-security") else ""
    past = (os.environ.get("TCPLAB_SNAPSHOT") or SNAPSHOT).rstrip("/")
    past += security if past == SNAPSHOT else ""
    dated = f"{past}/{day.replace('-', '')}T235959Z"
    try:
        return [mirror(suite), dated]
    except TcplabError:  # a system other than Debian
        return [PUBLIC + security, dated]


def _locked(printed: str, root: str) -> Iterator[LockedPackage]:
    """Yield the lines of apt-get --print-uris: 'URI' FILE SIZE SHA256:DIGEST."""
    for uri, file, sha256 in _URI.findall(printed):
        name, version, _ = unquote(file).split("_")
        yield LockedPackage(name, version, sha256, uri.removeprefix(root).lstrip("/"))


def repositories() -> dict[str, str]:
    """Code name of a Debian suite (bookworm, bookworm-security) -> URI, of this machine's apt."""
    columns = "$(ORIGIN) $(CODENAME) $(REPO_URI)"
    listed = output("apt-get", "indextargets", "--format", columns, "Created-By: Packages")
    rows = [line.split() for line in listed.splitlines() if line.startswith("Debian ")]
    return {row[1]: row[2] for row in rows if len(row) == 3}


def download_settings() -> str:
    """Return the network settings of this machine's apt: proxies, certificates, time-outs."""
    lines = output("apt-config", "dump", "Acquire").splitlines()
    return "".join(f"{line}\n" for line in lines if not line.startswith("Acquire::IndexTargets"))


def output(*command: str) -> str:
    """Return the output of a command. Raises CommandError."""
    return output_of(command, environment=ENVIRONMENT)
