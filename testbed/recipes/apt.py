"""Debian packages fetched as an ordinary user, by apt with a configuration of its own.

Nothing on the machine changes.

The mirror is the one this machine's apt uses; signatures are checked against the distribution's
keyring.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from testbed.recipes.building import ENVIRONMENT, FOLDER, Workshop
from topologies.errors import CommandError, TcplabError

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
APT_ENVIRONMENT = {"APT_CONFIG": f"{FOLDER}/apt/apt.conf", "DEBIAN_FRONTEND": "noninteractive"}


@dataclass(frozen=True)
class Apt:
    """apt for one suite in a workshop."""

    workshop: Workshop
    suite: str

    def update(self) -> None:
        """Fetch the suite's list of packages. Raises TcplabError, CommandError."""
        if not Path(KEYRING).exists():
            problem = f"{KEYRING} is missing: nothing fetched from a Debian mirror can be verified."
            raise TcplabError(problem, "Install the package debian-archive-keyring.")
        uri = mirror(self.suite)
        folder = self.workshop.folder / "apt"
        shutil.rmtree(folder, ignore_errors=not folder.exists())
        (folder / "lists/partial").mkdir(parents=True)
        (folder / "archives/partial").mkdir(parents=True)
        (folder / "status").touch()
        (folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {uri} {self.suite} main\n")
        (folder / "apt.conf").write_text(CONFIGURATION + download_settings())
        self.get(f"Fetching the package list of {self.suite}", "update", "--error-on=any")

    def download(self, package: str) -> Path:
        """The .deb of one package, without what it depends on."""
        self.get(f"Downloading {package}", "download", package)
        return next(self.workshop.folder.glob(f"{package}_*.deb"))

    def download_all(self, packages: Sequence[str]) -> list[Path]:
        """The .deb files of packages and of everything they depend on, in a fixed order."""
        self.get(
            "Downloading the guest's packages", "install", "--download-only", "--yes", *packages
        )
        return sorted((self.workshop.folder / "apt/archives").glob("*.deb"))

    def names(self, pattern: str) -> list[str]:
        """The packages of the suite whose name matches a regular expression."""
        command = ["apt-cache", "search", "--names-only", pattern]
        listed = self.workshop.run("Reading the package list", command, environment=APT_ENVIRONMENT)
        return [line.split()[0] for line in listed.splitlines()]

    def get(self, text: str, *arguments: str) -> None:
        """Run apt-get. Raises CommandError."""
        self.workshop.run(
            text, ["apt-get", "-q", *arguments], environment=APT_ENVIRONMENT, network=True
        )


def mirror(suite: str) -> str:
    """The mirror of a suite: $TCPLAB_MIRROR, else what this machine's apt has.

    If its apt has none for the suite, the one of its Debian release is taken.
    """
    uris = repositories()
    releases = [uri for name, uri in uris.items() if "-" not in name]
    chosen = os.environ.get("TCPLAB_MIRROR") or uris.get(suite) or next(iter(releases), "")
    if not chosen or (suite.endswith("-security") and suite not in uris):
        remedy = (
            "Name one in TCPLAB_MIRROR, or bring kernel and image over with `tcplab image import"
            " FILE`."
        )
        raise TcplabError(f"This machine's apt knows no Debian mirror for {suite}.", remedy)
    return chosen


def repositories() -> dict[str, str]:
    """Code name of a Debian suite (bookworm, bookworm-security) -> URI, of this machine's apt."""
    listed = output(
        "apt-get",
        "indextargets",
        "--format",
        "$(ORIGIN) $(CODENAME) $(REPO_URI)",
        "Created-By: Packages",
    )
    rows = [line.split() for line in listed.splitlines() if line.startswith("Debian ")]
    return {row[1]: row[2] for row in rows if len(row) == 3}


def download_settings() -> str:
    """How this machine's apt reaches the network: proxies, certificates, time-outs, no hooks."""
    lines = output("apt-config", "dump", "Acquire").splitlines()
    return "".join(f"{line}\n" for line in lines if not line.startswith("Acquire::IndexTargets"))


def output(*command: str) -> str:
    """What a command prints. Raises CommandError."""
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **ENVIRONMENT}, check=False
    )
    if done.returncode:
        raise CommandError(" ".join(command), done.returncode, done.stderr)
    return done.stdout
