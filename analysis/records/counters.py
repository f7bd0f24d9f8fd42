"""counters.json: what the kernel of each host counted, by nstat's names."""

from __future__ import annotations

import re

from msgspec import Struct, field

_COUNTED_SINCE = {"TcpExtTCPTimeouts": (5, 1)}
"""Counters that are no measure before that Linux.

Before 5.1 a time-out that ends a recovery is counted elsewhere, and that follows another nowhere
(tcp_retransmit_timer in net/ipv4/tcp_timer.c; "tcp: fix SNMP TCP timeout under-estimation").
"""


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

    def on_kernel(self, kernel: str) -> CountersFile:
        """Without the counters that are no measure on a kernel, named as by "Linux 4.4.121"."""
        version = tuple(map(int, re.findall(r"\d+", kernel)[:2]))
        absent = {name for name, since in _COUNTED_SINCE.items() if version and version < since}
        return CountersFile(_without(self.before, absent), _without(self.after, absent))


def _without(hosts: dict[str, dict[str, float]], absent: set[str]) -> dict[str, dict[str, float]]:
    return {
        host: {name: value for name, value in counted.items() if name not in absent}
        for host, counted in hosts.items()
    }
