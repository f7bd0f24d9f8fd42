"""counters.json: what the kernel of each host counted, by nstat's names."""

from __future__ import annotations

from msgspec import Struct, field


class CountersFile(Struct, frozen=True):
    """The counters of each host, before the trial and after it."""

    before: dict[str, dict[str, float]] = field(default_factory=dict)
    after: dict[str, dict[str, float]] = field(default_factory=dict)

    def growth(self, host: str) -> dict[str, float]:
        """Each counter of `host`: its value after the trial less its value before."""
        before = self.before.get(host, {})
        return {
            name: last - before.get(name, 0.0) for name, last in self.after.get(host, {}).items()
        }
