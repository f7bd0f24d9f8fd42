"""Guests that are started before it is known what they will measure.

Such a guest builds the nodes and cables of a network and then waits for its order, which comes as
the target of a symbolic link (testbed.guest.job_entry): to read one takes no virtual time. So a
guest that waited for an hour sends the same packets as one whose order was there from the start.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.guest.job_entry import AHEAD, LOG, NONE_YET, ORDER, packed
from testbed.guest.programs import wait_until_ended
from testbed.host.capacity import claimed_processor
from testbed.host.processes import ProcessUsage
from testbed.jobs.archive import job_archive
from testbed.jobs.following import JobEnd, Limits, Progress, Usage, usage_of
from testbed.virtual.guest import GuestSettings, RunningGuest, guest, lacking
from testbed.virtual.run import compiled_code
from topologies.foundation import untrusted
from topologies.foundation.errors import TcplabError

if TYPE_CHECKING:
    from testbed.lab.ready import Lab

_LOOK = 0.01  # seconds between two looks whether a guest waits
_PATIENCE = 300.0  # seconds that a guest may take until it waits, on a busy machine
_LONGEST_ORDER = 4095  # characters, symlink(7)


def run_told_later(
    lab: Lab,
    module: str,
    known: Any,
    order: Any,
    seed: int,
    out: Path,
    progress: Progress,
    limits: Limits,
    loud: bool = False,
) -> Usage:
    """Run a guest as those started ahead, with its order from the start. Raises TcplabError."""
    with claimed_processor() as processor:
        settings = GuestSettings(lab, seed, out, limits, processor, loud=loud)
        with _linked(settings, module, known, _packed(order)) as running:
            ended = running.follow(progress)
    return usage_of(ended, out)


@dataclass(frozen=True)
class GuestAhead:
    """A guest that waits for its order, and takes no processor time meanwhile."""

    running: RunningGuest
    kernel: int
    """A descriptor of its kernel's process."""

    def order(self, order: Any) -> None:
        """Tell it what to do."""
        _tell(self.running.bounds.out, _packed(order))
        signal.pidfd_send_signal(self.kernel, signal.SIGCONT)

    def follow(self, progress: Progress) -> JobEnd:
        """Follow it to its end. Raises TcplabError beyond its limits."""
        return self.running.follow(progress)


@contextmanager
def guest_ahead(
    lab: Lab, module: str, known: Any, seed: int, out: Path, limits: Limits, processor: int | None
) -> Iterator[GuestAhead]:
    """Provide a guest that waits and knows `known`. `out` is empty. Raises TcplabError."""
    settings = GuestSettings(lab, seed, out, limits, processor)
    with _linked(settings, module, known, NONE_YET) as running:
        _wait_until_it_waits(running)
        with running.processes.held_kernel() as kernel:
            signal.pidfd_send_signal(kernel, signal.SIGSTOP)
            yield GuestAhead(running, kernel)


@contextmanager
def _linked(settings: GuestSettings, module: str, known: Any, text: str) -> Iterator[RunningGuest]:
    archive = job_archive(module, known, None, ahead=True, **lacking(settings.lab))
    _tell(settings.out, text)
    with guest(settings, compiled_code(settings.lab), archive) as running:
        try:
            yield running
        finally:
            untrusted.remove(settings.out / ORDER)


def _packed(order: Any) -> str:
    """Return the order as text. Raises TcplabError for one that is too long for a link."""
    text = packed(order)
    if len(text) > _LONGEST_ORDER:
        raise TcplabError(
            f"What the guest is to do takes {len(text)} characters, and {_LONGEST_ORDER} are the"
            " most.",
            "Use fewer flows, or an experiment whose guests know everything at their start.",
        )
    return text


def _tell(out: Path, text: str) -> None:
    """Replace the link in one step: the guest reads the old target or the new one."""
    fresh = out / f"{ORDER}.new"
    fresh.symlink_to(text)
    fresh.rename(out / ORDER)


def _wait_until_it_waits(running: RunningGuest) -> None:
    begun = time.monotonic()
    while AHEAD not in _log(running.bounds.out):
        if wait_until_ended(running.process, _LOOK):
            ended = JobEnd(running.process.returncode, 0.0, ProcessUsage())
            usage_of(ended, running.bounds.out)  # raises with its last words
        if time.monotonic() - begun > _PATIENCE:
            raise TcplabError(
                f"A guest was not ready within {_PATIENCE:g} s.", "The machine is too busy."
            )


def _log(out: Path) -> str:
    try:
        return untrusted.tail(out, LOG, 4096)
    except (FileNotFoundError, untrusted.StrangeFile):
        return ""
