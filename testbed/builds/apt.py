"""apt as an ordinary user, for new locks and kernel sources; the machine is not changed.

The signature of a suite's list is checked against the distribution's keyring.
"""

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from testbed.builds import FOLDER, Workshop
from testbed.builds.debian import LockedPackage, apt_output, mirror
from topologies.errors import TcplabError

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
CONFIGURATION = Path(__file__).with_name("apt.txt").read_text().replace("FOLDER", FOLDER)
_URI = re.compile(r"(?m)^'([^']+)' (\S+) \d+ SHA256:([0-9a-f]{64})$")
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
        self._prepare(f"deb [signed-by={KEYRING}] {self._mirror()} {self.suite} main\n")
        command = ["apt-get", "-q", "update", "--error-on=any"]
        self._run(f"Fetching the package list of {self.suite}", command)

    def _mirror(self) -> str:
        if uri := mirror(self.suite):
            return uri
        problem = f"This machine's apt knows no Debian mirror for {self.suite}."
        raise TcplabError(problem, "Name one in TCPLAB_MIRROR.")

    def _prepare(self, sources: str) -> None:
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

    def resolve(self, wanted: Sequence[str]) -> list[LockedPackage]:
        """Return a mirror's versions of packages and of all that they depend on."""
        self.update()
        options = ["-qq", "-o", "Acquire::ForceHash=SHA256", "--print-uris", "--yes"]
        printed = self._run("Resolving", ["apt-get", *options, "install", *wanted])
        return list(_locked(printed, self._mirror()))

    def _run(self, text: str, command: Sequence[str]) -> str:
        """Run a program of apt with the workshop's configuration. Raises CommandError."""
        return self.workshop.run(text, command, environment=_ENVIRONMENT, network=True)


def _locked(printed: str, root: str) -> Iterator[LockedPackage]:
    """Yield the lines of apt-get --print-uris: 'URI' FILE SIZE SHA256:DIGEST."""
    for uri, file, sha256 in _URI.findall(printed):
        name, version, _ = unquote(file).split("_")
        yield LockedPackage(name, version, sha256, uri.removeprefix(root).lstrip("/"))


def download_settings() -> str:
    """Return the network settings of this machine's apt: proxies, certificates, time-outs."""
    lines = apt_output("apt-config", "dump", "Acquire").splitlines()
    return "".join(f"{line}\n" for line in lines if not line.startswith("Acquire::IndexTargets"))
