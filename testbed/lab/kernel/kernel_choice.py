"""Which kernel a guest runs, as people type it and as a spec holds it.

6.12                       a version that the lab knows (versions/)
linux-6.18.tar.xz          a tarball
~/linux                    a tree
~/linux@net-next           a revision of a git clone
7.2+mine.patch             any of these with patches on it
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from testbed.lab.kernel.kernel_version import DEFAULT, all_series, kernel_version, series_of
from testbed.lab.kernel.own_source import OwnSource, own_source, version_in
from topologies.foundation.errors import TcplabError, UsageError
from topologies.foundation.untrusted import digest_of

_WRITTEN = re.compile(r"(?P<name>.+) \[(?P<series>[\d.]+) (?P<digest>[0-9a-f]{16})\]")


@dataclass(frozen=True)
class KernelChoice:
    """A kernel: `name` as it was typed, and `series`, the version of the lab that it is built like.

    `digest` stands for a source or patches of the user's own, so that a name always means the same
    kernel; empty if there are none. As text it is what a spec holds.
    """

    name: str = DEFAULT
    series: str = DEFAULT
    digest: str = ""

    def __str__(self) -> str:
        return f"{self.name} [{self.series} {self.digest}]" if self.digest else self.name

    @property
    def is_default(self) -> bool:
        return not self.digest and self.name == DEFAULT


LAB_KERNEL = KernelChoice()
"""The kernel that runs unless another is asked for."""


@dataclass(frozen=True)
class OwnIngredients:
    """What of a kernel is the user's own: the source, if it is, and patches on it."""

    source: OwnSource | None
    patches: tuple[Path, ...]

    def digest(self) -> str:
        """Of all of it; empty if there is nothing."""
        digests = [self.source.digest()] if self.source else []
        digests += [digest_of(patch) for patch in self.patches]
        return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:16] if digests else ""


@cache
def chosen(text: str) -> KernelChoice:
    """The kernel that a text means, typed or from a spec.

    A user's own source is read for its digest, once in a process. Raises UsageError, CommandError.
    """
    if written := _WRITTEN.fullmatch(text):
        return KernelChoice(**written.groupdict())
    base, _patches = _parted(text)
    own = ingredients(text)
    if own.source:
        return KernelChoice(text, series_of(version_in(own.source.makefile())).series, own.digest())
    return KernelChoice(text, kernel_version(base).series, own.digest())


def ingredients(name: str) -> OwnIngredients:
    """What the name of a kernel leads to beside the lab's own files. Raises UsageError."""
    base, patches = _parted(name)
    return OwnIngredients(None if base in all_series() else _source(base), patches)


def _source(base: str) -> OwnSource:
    if re.fullmatch(r"[\d.]+", base) and not Path(base).exists():
        kernel_version(base)  # raises, and names the versions
    before, plus, patch = base.rpartition("+")
    if plus and (before in all_series() or Path(before).expanduser().exists()):
        raise UsageError(f"There is no patch {patch[:200]}.", "Name a file that patch(1) takes.")
    return own_source(base)


def _parted(name: str) -> tuple[str, tuple[Path, ...]]:
    """A name without its patches, and these: what follows a plus and is a file."""
    base, plus, last = name.rpartition("+")
    patch = Path(last).expanduser()
    if not plus or Path(name).expanduser().exists() or not patch.is_file():
        return name, ()
    before, patches = _parted(base)
    return before, (*patches, patch)


def require_unchanged(kernel: KernelChoice) -> OwnIngredients:
    """What to build the kernel from.

    Raises TcplabError if it is not what the choice was made of.
    """
    own = ingredients(kernel.name)
    if own.digest() != kernel.digest:
        raise TcplabError(
            f"What {kernel.name} names has changed since it was chosen.", "Start again."
        )
    return own
