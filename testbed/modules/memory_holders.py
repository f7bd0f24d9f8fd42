"""Who holds the memory of a guest that has none left.

Whoever is refused memory first is mostly a victim. So a kernel of one's own is built once more so
that it accounts for its memory, has the same run, and prints which lines of its source hold most.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from testbed.lab.kernel.kernel_choice import KernelChoice, chosen
from testbed.lab.kernel.kernel_lines import SourcePlace, lines_of
from testbed.lab.kernel.kernel_version import kernel_version

_MOST, _SMALLEST_SHARE = 3, 0.1
_ALLOCATOR = "mm/slub.c"  # its pages are those of everybody who asked it for less than one
_UNITS = ("B", "KiB", "MiB", "GiB")
# mm/show_mem.c: size, calls, FILE:LINE, the module's name, the function
_HOLDER = re.compile(
    r"(?m)^\[[ \d.]+\] +([\d.]+ (?:B|KiB|MiB|GiB)) +\d+ (\S+):(\d+)(?: \[\w+\])? func:(\S+)$"
)


@dataclass(frozen=True)
class MemoryHolder:
    """A line of the kernel's source, and what was allocated there and not freed (as 950 MiB)."""

    size: str
    place: SourcePlace
    function: str

    @property
    def size_bytes(self) -> float:
        number, unit = self.size.split()
        return float(number) * 1024.0 ** _UNITS.index(unit)


def accounting_kernel(kernel: KernelChoice) -> KernelChoice | None:
    """The same kernel, but one that says who holds its memory; None before Linux 6.10."""
    patch = kernel_version(kernel.series).accounting_patch
    return chosen(f"{kernel.name}+{patch}") if patch else None


def memory_holders(console: str) -> list[MemoryHolder]:
    """Who held most when memory was used up, the largest first; empty if the kernel did not say."""
    holders = [
        MemoryHolder(size, SourcePlace(file, int(number)), function)
        for size, file, number, function in _HOLDER.findall(console)
        if file != _ALLOCATOR
    ][:_MOST]
    return [
        holder for holder in holders if holder.size_bytes >= _SMALLEST_SHARE * holders[0].size_bytes
    ]


def holders_text(holders: list[MemoryHolder], kernel: KernelChoice) -> str:
    """A line for each, with that of its source if it can still be read."""
    lines = lines_of(kernel, [holder.place for holder in holders])
    return "".join(
        f"  {holder.size}: {holder.function} at"
        f" {line or f'{holder.place.file}:{holder.place.number}'}\n"
        for holder, line in zip(holders, lines, strict=True)
    )
