"""The kernels that the lab knows: a folder of versions/ for each range of versions, as data.

Patches of kernel.toml with a path are sought from the folder, others in it and then in patches/.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from topologies.disciplines import disciplines
from topologies.errors import UsageError
from topologies.notation import toml_table

HERE = Path(__file__).parent
VERSIONS, PATCHES = HERE / "versions", HERE / "patches"
DEFAULT = "7.2"  # the kernel of the lab unless another is asked for
OPEN_VSWITCH = "Open vSwitch"  # who lacks it has bridges for switches (testbed.guest.switches)
ORDERS_PATCH = "orders.patch"  # the patch of kernels that take orders (testbed.guest.job_entry)


@dataclass(frozen=True)
class KernelVersion:
    """A kernel.toml. `series` is its folder's name, by which people call it.

    `version` is pinned: a distribution's `package` of a `suite`, of which the tarball has this
    `sha256`, and kernel.org's `url`. The patches are meant for sources from `since` to `until`. A
    build prints `steps` lines. `config` is a file of the folder, else lab.config, `without` options
    that came later. `make` are variables for make. `accounting` is a patch for a kernel that says
    who holds its memory. `lacks` has reasons for what other kernels have; a setting among them that
    the kernel behaves as if it had is in `always`, with that value.
    """

    series: str
    version: str
    since: str
    patches: tuple[str, ...]
    steps: int
    url: str
    until: str = ""
    url_sha256: str = ""
    package: str = ""
    suite: str = ""
    sha256: str = ""
    config: str = "lab.config"
    without: tuple[str, ...] = ()
    make: tuple[str, ...] = ()
    accounting: str = ""
    lacks: Mapping[str, str] = field(default_factory=dict)
    always: Mapping[str, str] = field(default_factory=dict)

    @property
    def patch_files(self) -> list[Path]:
        """The patches, in the order in which they are applied."""
        return [self.file(name) for name in self.patches]

    @property
    def config_file(self) -> Path:
        """The settings of the configuration; all others are off."""
        return self.file(self.config, HERE)

    def file(self, name: str, shared: Path = PATCHES) -> Path:
        """Return the path of a file of its folder, or of the shared one."""
        own = VERSIONS / self.series / name
        return own if own.exists() else shared / name

    def takes(self, version: str) -> bool:
        """Check that the patches are meant for a source of that version."""
        numbers = as_numbers(version)
        too_new = self.until and numbers[:2] > as_numbers(self.until)
        return as_numbers(self.since) <= numbers and not too_new

    @property
    def range(self) -> str:
        """The versions of its sources, in words."""
        if self.until == self.since:
            return self.since
        return f"{self.since} to {self.until}" if self.until else f"{self.since} and later"

    @property
    def origin(self) -> str:
        """The origin of its source in words, unless the user brings one."""
        return f"Debian ({self.suite})" if self.package else "kernel.org"

    @property
    def is_default(self) -> bool:
        return self.series == DEFAULT


ACCURATE_ECN = "accurate ECN"  # a need of flows (tcp_ecn=3)
_ACCURATE_SINCE = "7.0"


@cache
def kernel_version(series: str = DEFAULT) -> KernelVersion:
    """Return the kernel of that name. Raises UsageError."""
    if series not in all_series():
        raise UsageError(
            f"There is no kernel '{series[:60]}'.",
            f"Choose from {', '.join(all_series())}, or name a tarball, a tree, or a revision of a"
            " git clone (FOLDER@REVISION); patches follow a plus: 7.2+mine.patch.",
        )
    text = (VERSIONS / series / "kernel.toml").read_text()
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in toml_table(text).items()
    }
    younger = {
        each.name: f"it came with Linux {each.since}."
        for each in disciplines().values()
        if as_numbers(each.since) > as_numbers(series)
    }
    if as_numbers(_ACCURATE_SINCE) > as_numbers(series):
        younger[ACCURATE_ECN] = f"it came with Linux {_ACCURATE_SINCE}."
    return KernelVersion(series, **values | {"lacks": younger | values.get("lacks", {})})


@cache
def all_series() -> tuple[str, ...]:
    """Return the names of all kernels, the newest first."""
    names = [file.parent.name for file in VERSIONS.glob("*/kernel.toml")]
    return tuple(sorted(names, key=as_numbers, reverse=True))


def as_numbers(version: str) -> tuple[int, ...]:
    """6.12.117 -> (6, 12, 117)"""
    return tuple(int(part) for part in version.split("."))


def series_of(version: str) -> KernelVersion:
    """Return the newest kernel whose patches a source of that version takes. Raises UsageError."""
    for kernel in map(kernel_version, all_series()):
        if kernel.takes(version):
            return kernel
    ranges = ", ".join(kernel_version(series).range for series in reversed(all_series()))
    raise UsageError(f"The lab has no patches for Linux {version}.", f"It has them for {ranges}.")
