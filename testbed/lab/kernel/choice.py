"""The kernel of a guest, as users type it and as a spec holds it, and sources that users bring.

6.12                       a version that the lab knows (versions/)
linux-6.18.tar.xz          a tarball
~/linux                    a tree
~/linux@net-next           a revision of a git clone
7.2+mine.patch             any of these with patches on it
"""

import hashlib
import re
import shutil
import tarfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from testbed.guest.programs import run
from testbed.lab.kernel import DEFAULT, all_series, kernel_version, series_of
from topologies.errors import CommandError, TcplabError, UsageError
from topologies.untrusted import digest_of


@dataclass(frozen=True)
class OwnTarball:
    """A linux-VERSION.tar of any compression that the user named."""

    file: Path

    def digest(self) -> str:
        return digest_of(self.file)

    def makefile(self) -> str:
        """Return the kernel's Makefile, which says its version. Raises UsageError."""
        try:
            with tarfile.open(self.file, "r|*") as archive:
                for member in archive:
                    if re.fullmatch(r"(\./)?([^/]+/)?Makefile", member.name):
                        return str(archive.extractfile(member).read().decode())  # type: ignore[union-attr]
        except (tarfile.TarError, EOFError, OSError, UnicodeDecodeError) as error:
            problem = f"{self.file} is not a tarball: {error}."
            raise UsageError(problem, "Name a linux-VERSION.tar.xz.") from error
        raise UsageError(f"{self.file} has no Makefile.", "Name a linux-VERSION.tar.xz.")

    def pack(self, target: Path) -> None:
        """Write the source into the file `target`; so do the others."""
        shutil.copyfile(self.file, target)

    def __str__(self) -> str:
        return str(self.file)


@dataclass(frozen=True)
class OwnTree:
    """A folder with a kernel's source; of a git clone what git knows or would add."""

    folder: Path

    def files(self) -> list[str]:
        """Return the paths of all files and links, in order."""
        if (self.folder / ".git").exists():
            words = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
            listed = set(git(self.folder, *words).split("\0")[:-1])
            known = ((name, self.folder / name) for name in listed)
            return sorted(name for name, file in known if file.is_symlink() or file.is_file())
        paths = (path for path in self.folder.rglob("*") if path.is_symlink() or path.is_file())
        return sorted(path.relative_to(self.folder).as_posix() for path in paths)

    def digest(self) -> str:
        """SHA-256 over the paths and contents of all files."""
        digest = hashlib.sha256()
        for name in self.files():
            file = self.folder / name
            content = bytes(file.readlink()) if file.is_symlink() else file.read_bytes()
            digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
        return digest.hexdigest()

    def makefile(self) -> str:
        return (self.folder / "Makefile").read_text()

    def pack(self, target: Path) -> None:
        command = ["tar", "-C", str(self.folder), "--null", "-T", "-"]
        command += ["--transform", "s,^,linux/,S", "-cf", str(target)]
        run(command, "\0".join(self.files()))

    def __str__(self) -> str:
        return str(self.folder)


@dataclass(frozen=True)
class OwnRevision:
    """A revision of a git clone."""

    clone: Path
    revision: str

    def digest(self) -> str:
        """Return the name of its tree, which is a digest of all files."""
        return git(self.clone, "rev-parse", "--verify", f"{self.revision}^{{tree}}").strip()

    def makefile(self) -> str:
        try:
            return git(self.clone, "show", f"{self.revision}:Makefile")
        except CommandError as error:
            problem = f"{self} is no source of Linux: it has no Makefile."
            raise UsageError(problem, "Name a clone of a kernel's repository.") from error

    def pack(self, target: Path) -> None:
        archive = ["archive", "--format=tar", "--prefix=linux/", "-o"]
        git(self.clone, *archive, str(target.absolute()), self.revision)

    def __str__(self) -> str:
        return f"{self.clone}@{self.revision}"


OwnSource = OwnTarball | OwnTree | OwnRevision


def own_source(text: str) -> OwnSource:
    """Return the source that a text names: a file, a folder, FOLDER@REVISION. Raises UsageError."""
    place = Path(text).expanduser()
    if place.is_file():
        return OwnTarball(place)
    if (place / "Makefile").is_file():
        return OwnTree(place)
    folder, at, revision = text.rpartition("@")
    clone = Path(folder).expanduser()
    if at and clone.is_dir():
        try:  # the commit that the revision is now; a branch may go on meanwhile
            commit = git(clone, "rev-parse", "--verify", f"{revision}^{{commit}}").strip()
        except CommandError as error:
            problem = f"{clone} has no revision '{revision[:60]}'."
            raise UsageError(problem, "See `git log` and `git branch --all`.") from error
        return OwnRevision(clone, commit)
    remedy = "Name a linux-VERSION.tar.xz, a folder with a kernel's Makefile, or FOLDER@REVISION."
    raise UsageError(f"{text[:200]} is no kernel source.", remedy)


def version_in(makefile: str) -> str:
    """7.2.12 from the first lines of a kernel's Makefile. Raises UsageError."""
    values = dict(re.findall(r"(?m)^(VERSION|PATCHLEVEL|SUBLEVEL)\s*=\s*(\d+)", makefile))
    if not {"VERSION", "PATCHLEVEL"} <= set(values):
        remedy = "Name a linux-VERSION.tar.xz, a tree, or a revision of a git clone."
        raise UsageError("This is no source of Linux: its Makefile states no version.", remedy)
    return ".".join(values.get(name, "0") for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def git(clone: Path, *words: str) -> str:
    """Return git's output for a clone. Raises CommandError."""
    return run(["git", "-C", str(clone), *words])


_WRITTEN = re.compile(r"(?P<name>.+) \[(?P<series>[\d.]+) (?P<digest>[0-9a-f]{16})\]")


@dataclass(frozen=True)
class KernelChoice:
    """A kernel: `name` as it was typed, and `series`, the version of the lab that it is built like.

    `digest` stands for a source or patches of the user's own, if any. As text it is in specs.
    """

    name: str = DEFAULT
    series: str = DEFAULT
    digest: str = ""

    def __str__(self) -> str:
        return f"{self.name} [{self.series} {self.digest}]" if self.digest else self.name

    @property
    def is_default(self) -> bool:
        return not self.digest and self.name == DEFAULT


LAB_KERNEL = KernelChoice()  # the kernel that runs unless another is asked for


@cache
def chosen(text: str) -> KernelChoice:
    """Return the kernel that a text means, typed or from a spec. Raises UsageError."""
    if written := _WRITTEN.fullmatch(text):
        return KernelChoice(**written.groupdict())
    source, patches = ingredients(text)
    version = (
        series_of(version_in(source.makefile())) if source else kernel_version(_parted(text)[0])
    )
    return KernelChoice(text, version.series, _digest(source, patches))


def ingredients(name: str) -> tuple[OwnSource | None, tuple[Path, ...]]:
    """Return the user's source and patches in the name of a kernel. Raises UsageError."""
    base, patches = _parted(name)
    if base in all_series():
        return None, patches
    if re.fullmatch(r"[\d.]+", base) and not Path(base).exists():
        kernel_version(base)  # raises, and names the versions
    before, plus, patch = base.rpartition("+")
    if plus and (before in all_series() or Path(before).expanduser().exists()):
        raise UsageError(f"There is no patch {patch[:200]}.", "Name a file that patch(1) takes.")
    return own_source(base), patches


def _digest(source: OwnSource | None, patches: tuple[Path, ...]) -> str:
    """Return the digest of the user's parts of a kernel; empty without any."""
    digests = [*([source.digest()] if source else []), *map(digest_of, patches)]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16] if digests else ""


def _parted(name: str) -> tuple[str, tuple[Path, ...]]:
    """Split a name from its patches: each follows a plus and is a file."""
    base, plus, last = name.rpartition("+")
    patch = Path(last).expanduser()
    if not plus or Path(name).expanduser().exists() or not patch.is_file():
        return name, ()
    before, patches = _parted(base)
    return before, (*patches, patch)


def require_unchanged(kernel: KernelChoice) -> tuple[OwnSource | None, tuple[Path, ...]]:
    """Return the user's source and patches of the kernel. Raises TcplabError on a change."""
    own = ingredients(kernel.name)
    if _digest(*own) != kernel.digest:
        problem = f"What {kernel.name} names has changed since it was chosen."
        raise TcplabError(problem, "Start again.")
    return own
