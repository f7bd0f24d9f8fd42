"""Guests that are started before it is known what they will measure.

Such a guest builds the nodes and cables of a network and then waits for its order. To wait takes no
virtual time (testbed.guest.orders). So a guest that waited for an hour sends the same packets as
one whose order was there from the start.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.guest.job_entry import ORDER
from testbed.guest.orders import WAITING
from testbed.host.capacity import claimed_processor
from testbed.jobs.archive import job_archive
from testbed.jobs.following import Limits, Progress, Usage, usage_of
from testbed.virtual.guest import EPOCH, GuestSettings, RunningGuest, guest, lacking
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
        if lab.takes_orders:
            place = (lab, module, known, out, limits, processor)
            with guest_ahead(*place, loud=loud) as running:
                running.order(ordered(order, seed))
                ended = running.follow(progress)
        else:
            settings = GuestSettings(lab, out, limits, processor, loud=loud)
            files = {ORDER: json.dumps(ordered(order, seed)).encode()}
            archive = job_archive(module, known, files, ahead=True, clock=EPOCH, **lacking(lab))
            with guest(settings, compiled_code(lab), archive) as running:
                ended = running.follow(progress)
    return usage_of(ended, out)


def ordered(order: Any, seed: int, last: bool = True) -> dict[str, Any]:
    """Return the message that orders this of a guest, which after the `last` one ends."""
    return {"data": order, "seed": seed, "last": last}


@contextmanager
def guest_ahead(
    lab: Lab,
    module: str,
    known: Any,
    out: Path,
    limits: Limits,
    processor: int | None,
    loud: bool = False,
) -> Iterator[RunningGuest]:
    """Provide a guest that waits, without processor time, and knows `known`. `out` is empty.

    Raises TcplabError.
    """
    settings = GuestSettings(lab, out, limits, processor, loud=loud, takes_orders=True)
    archive = job_archive(module, known, None, ahead=True, clock=EPOCH, **lacking(lab))
    with guest(settings, compiled_code(lab), archive) as running:
        if running.first_message("A guest", _PATIENCE) != WAITING:
            raise TcplabError("The guest did not say that it waits.", "Run it again.")
        yield running
