"""The certificate of a cluster: only holders of its key may join (Dask's TLS).

Every user of a machine reaches its loopback interface, and Dask has no authentication but TLS. All
members hold the same certificate and key, so the certificate is its own authority.
"""

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from testbed.guest.programs import run
from testbed.host.packages import PATH
from testbed.host.scratch import gate
from topologies.errors import TcplabError, UsageError

FOLDER = "TCPLAB_CERTIFICATES"
"""The variable of the environment that names another folder than the usual one."""
TLS = "tls://"
# openssl-req(1): a key that no password protects. Nobody renews what a command has made unasked.
_REQUEST = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650"
_SUBJECT = ("-subj", "/CN=tcplab cluster")
_OTHERS = 0o027  # bits of a mode; Kubernetes gives a secret to the group of a pod


@dataclass(frozen=True)
class Certificates:
    """The files of a cluster's certificate and of its key (PEM)."""

    folder: Path

    @property
    def certificate(self) -> Path:
        return self.folder / "certificate.pem"

    @property
    def key(self) -> Path:
        return self.folder / "key.pem"

    def options(self) -> list[str]:
        """Return options for the command lines of Dask's scheduler and workers."""
        files = ["--tls-ca-file", self.certificate, "--tls-cert", self.certificate]
        return ["--protocol", "tls", *map(str, files), "--tls-key", str(self.key)]


def usual_folder() -> Path:
    """$TCPLAB_CERTIFICATES, else tcplab/cluster in $XDG_CONFIG_HOME or ~/.config."""
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(os.environ.get(FOLDER) or f"{settings}/tcplab/cluster").absolute()


def certificates(folder: Path | None = None) -> Certificates:
    """Return this machine's certificate. Raises TcplabError without a private one."""
    found = Certificates(folder or usual_folder())
    for file in (found.certificate, found.key):
        if not file.is_file():
            raise TcplabError(
                f"There is no certificate of a cluster here: {file} is missing.",
                "./tcplab scheduler makes it. From another machine, copy it:"
                f" mkdir -p {found.folder.parent} && scp -pr HOST:{found.folder} {found.folder}",
            )
    status = found.key.stat()
    if status.st_mode & _OTHERS:
        raise TcplabError(f"Others may read {found.key}.", f"chmod 600 {found.key}")
    if status.st_uid not in (0, os.geteuid()):  # Kubernetes mounts a secret as root's
        raise TcplabError(f"Another user made {found.key}.", f"Name another folder by {FOLDER}.")
    return found


def certificates_or_made() -> Certificates:
    """Return the cluster's certificate on this machine, which is made if there is none."""
    usual = Certificates(usual_folder())
    if not usual.certificate.exists():
        with suppress(UsageError):  # another scheduler has just made it
            make_certificates(usual.folder)
    return certificates(usual.folder)


def require_tls(scheduler: str) -> None:
    """Raises UsageError unless a scheduler's address is tls://."""
    if not scheduler.startswith(TLS):
        raise UsageError(
            f"'{scheduler[:80]}' is not tls://HOST:PORT. Without TLS, other users of that machine"
            " could run code as you.",
            "Start ./tcplab scheduler and use the address that it prints.",
        )


def make_certificates(folder: Path) -> Certificates:
    """Make a key and its certificate in a folder without any. Raises TcplabError."""
    made = Certificates(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with gate(folder):
        if made.key.exists() or made.certificate.exists():
            problem = f"{folder} has a certificate already."
            raise UsageError(problem, "Remove it first, and its copies elsewhere.")
        openssl = shutil.which("openssl", path=PATH)
        if openssl is None:
            raise TcplabError("openssl is not installed.", "sudo apt-get install openssl")
        with TemporaryDirectory(dir=folder) as name:
            fresh = Certificates(Path(name))
            files = ["-keyout", str(fresh.key), "-out", str(fresh.certificate)]
            run([openssl, *_REQUEST.split(), *_SUBJECT, *files], umask=0o077)
            fresh.key.rename(made.key)  # whole, before workers of this home look for it
            fresh.certificate.rename(made.certificate)
    return certificates(folder)
