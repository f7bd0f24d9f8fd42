"""manifest.json of a run, and what it has in common with sweep.json and reproduction.json."""

from typing import Any

from msgspec import Struct, field


class KernelFacts(Struct, frozen=True):
    """The kernel that a run had; `digest` is None unless it is a lab kernel."""

    release: str = ""
    digest: str | None = None


class ImageFacts(Struct, frozen=True):
    """The guest's image."""

    digest: str = ""


class Provenance(Struct, frozen=True):
    """Time, versions and duration of a run, sweep or reproduction; duration by three clocks."""

    format: float | None = None
    id: str = ""
    tcplab: str = ""
    started: str = ""
    status: str = "unknown"
    kernel: KernelFacts = KernelFacts()
    virtual_seconds: float | None = None
    wall_seconds: float | None = None
    cpu_seconds: float | None = None

    @property
    def durations(self) -> list[tuple[str, str]]:
        """The duration by each clock that was read."""
        clocks = (
            ("virtual time", self.virtual_seconds),
            ("wall time", self.wall_seconds),
            ("CPU time", self.cpu_seconds),
        )
        return [(label, f"{value:.1f} s") for label, value in clocks if value is not None]


class RunManifest(Provenance, frozen=True):
    """manifest.json. `files` are the SHA-256 of the run's files by their paths.

    What is no digest there agrees with no file. `seeds` are as they are written.
    """

    experiment: str = ""
    claim: str = ""
    testbed: str = ""
    seeds: tuple[Any, ...] = ()
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    code_digest: str = ""
    lab_digest: str | None = None
    image: ImageFacts | None = None
    tools: dict[str, str] = field(default_factory=dict)
    files: dict[str, Any] = field(default_factory=dict)
