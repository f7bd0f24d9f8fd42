"""Guests that are started before it is known what they will measure.

Such a guest builds the nodes and cables of a network and then waits for its order. To wait takes no
virtual time (testbed.guest.orders). So a guest that waited for an hour sends the same packets as
one whose order was there from the start.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.guest.job_entry import ORDER
from testbed.guest.orders import WAITING
from testbed.host.capacity import claimed_processor
from testbed.jobs.archive import job_archive
from testbed.jobs.following import JobEnd, Limits, Progress, Usage, usage_of
from testbed.virtual.guest import GuestSettings, RunningGuest, guest, lacking
from testbed.virtual.line import LineClosed, LineSilent
from testbed.virtual.run import compiled_code
from topologies.foundation.errors import TcplabError

if TYPE_CHECKING:
    from testbed.lab.ready import Lab

_PATIENCE = 300.0  # seconds that a guest may take until it waits, on a busy machine


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
    """Run a guest as those started ahead, but order it at once. Raises TcplabError."""
    with claimed_processor() as processor:
        settings = GuestSettings(
            lab, seed, out, limits, processor, loud=loud, takes_orders=lab.takes_orders
        )
        if not lab.takes_orders:
            files = {ORDER: json.dumps(order).encode()}
            archive = job_archive(module, known, files, ahead=True, **lacking(lab))
            with guest(settings, compiled_code(lab), archive) as running:
                ended = running.follow(progress)
        else:
            with waiting_guest(settings, module, known) as waiting:
                waiting.order(order)
                ended = waiting.follow(progress)
    return usage_of(ended, out)


@dataclass(frozen=True)
class GuestAhead:
    """A guest that waits for its order, and takes no processor time meanwhile."""

    running: RunningGuest

    def order(self, order: Any) -> None:
        """Tell it what to do. Raises TcplabError if it has ended."""
        assert self.running.line
        try:
            self.running.line.send(order)
        except LineClosed:
            self.running.ended()

    def follow(self, progress: Progress) -> JobEnd:
        """Follow it to its end. Raises TcplabError beyond its limits."""
        return self.running.follow(progress)


@contextmanager
def guest_ahead(
    lab: Lab, module: str, known: Any, seed: int, out: Path, limits: Limits, processor: int | None
) -> Iterator[GuestAhead]:
    """Provide a guest that waits and knows `known`. `out` is empty. Raises TcplabError."""
    settings = GuestSettings(lab, seed, out, limits, processor, takes_orders=True)
    with waiting_guest(settings, module, known) as waiting:
        yield waiting


@contextmanager
def waiting_guest(settings: GuestSettings, module: str, known: Any) -> Iterator[GuestAhead]:
    """A guest that takes orders and waits for the first one. Raises TcplabError."""
    lab = settings.lab
    archive = job_archive(module, known, None, ahead=True, **lacking(lab))
    with guest(settings, compiled_code(lab), archive) as running:
        try:
            said = running.heard(_PATIENCE)
        except LineSilent:
            raise TcplabError(
                f"A guest was not ready within {_PATIENCE:g} s.", "The machine is too busy."
            ) from None
        if said != WAITING:
            raise TcplabError("The guest did not say that it waits.", "Run it again.")
        yield GuestAhead(running)
