"""Plugins: studies, metrics and the like that installed packages register as entry points.

A package declares them in its pyproject.toml, for example:

    [project.entry-points."tcplab.metrics"]
    my_metrics = "my_package.metrics:METRICS"

A folder of its own, since all modules of `topologies` travel into guests.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from topologies.errors import UsageError


@dataclass(frozen=True)
class Plugin:
    """A registered object: its name, the installed package that has it, and its entry point."""

    name: str
    package: str
    version: str
    entry: EntryPoint

    def load(self) -> Any:
        """Import and return the object. Raises UsageError if that fails."""
        try:
            return self.entry.load()
        except Exception as error:  # a stranger's module may raise anything
            raise self.broken(f"{type(error).__name__}: {error}") from error

    def source(self) -> bytes:
        """Return the text of the object's module. Raises UsageError if it is not one file."""
        try:
            spec = find_spec(self.entry.module)
            return Path(spec.origin if spec and spec.origin else self.entry.module).read_bytes()
        except (ImportError, OSError) as error:
            raise self.broken(f"{type(error).__name__}: {error}") from error

    def broken(self, why: str) -> UsageError:
        """Return the error for an object that is of no use."""
        return UsageError(
            f"'{self.name}' ({self.entry.group}) of the package {self.package} {self.version}"
            f" cannot be used: {why}.",
            f"Update or remove it: pip uninstall {self.package}",
        )


@cache
def registered(group: str) -> dict[str, Plugin]:
    """Return a group's plugins by name. Raises UsageError if two packages share a name."""
    plugins: dict[str, Plugin] = {}
    for entry in entry_points(group=group):
        package = entry.dist.name if entry.dist else "unknown"
        plugin = Plugin(entry.name, package, entry.dist.version if entry.dist else "", entry)
        other = plugins.setdefault(entry.name, plugin)
        if other.package != package:
            raise plugin.broken(f"the package {other.package} registers that name too")
    return plugins


def additional(group: str, taken: Collection[str]) -> dict[str, Plugin]:
    """Return the plugins of a group by name. Raises UsageError for one with a `taken` name."""
    plugins = registered(group)
    for name in sorted(plugins.keys() & set(taken)):
        raise plugins[name].broken("tcplab has that name already")
    return plugins
