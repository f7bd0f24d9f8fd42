"""The virtual testbed: a sandboxed job in the lab kernel, in virtual time, repeatable by seed.

A guest compiles the modules that guests import; the cache keeps them.

Guests that are started before it is known what they will measure.

Such a guest builds the nodes and cables of a network and then waits for its order. To wait takes no
virtual time (testbed.guest.orders). So a guest that waited for an hour sends the same packets as
one whose order was there from the start.
"""

from __future__ import annotations

import functools
import json
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from testbed.builds import cache
from testbed.builds.building import BuildReport, Workshop
from testbed.guest.compiling import COMPILED
from testbed.guest.job_entry import ORDER
from testbed.guest.orders import WAITING
from testbed.host.capacity import claimed_processor
from testbed.host.job_archive import code_digest, job_archive, travelling_modules
from testbed.host.supervise import Limits, Progress, Usage, usage_of
from testbed.virtual.guest import EPOCH, GuestSettings, RunningGuest, guest, lacking
from testbed.virtual.sandbox import Sandbox
from topologies.errors import TcplabError
from topologies.untrusted import digest_of

if TYPE_CHECKING:
    from testbed.lab.ready import Lab


_JOB = "testbed.guest.compiling"
_COMPILING = threading.Lock()  # a sweep starts guests in several threads


def compiled_code(lab: Lab) -> Path:
    """Return the program that runs jobs in guests of this lab. Raises TcplabError.

    If the cache cannot be written to, it is compiled for this process alone.
    """
    try:
        return compiled_entry(lab).folder / COMPILED
    except TcplabError as error:
        if not isinstance(error.__cause__, OSError):
            raise
    with _COMPILING:
        folder = Path(_own_folder(lab.image).name)
        if not (folder / COMPILED).exists():
            _compile(lab, folder)
    return folder / COMPILED


def compiled_entry(lab: Lab) -> cache.Entry:
    """Return the cache's entry of that program, equal for all kernels. Raises TcplabError."""

    def build(workshop: Workshop) -> cache.Facts:
        _compile(lab, workshop.folder)
        return {}

    image = lab.digests.get("image") or digest_of(lab.image)
    recipe = cache.Recipe("code", (), (COMPILED,), build, f"{image} {code_digest()}")
    return cache.ready(recipe, BuildReport())


@functools.cache
def _own_folder(_image: Path) -> tempfile.TemporaryDirectory[str]:
    """Return a folder for guests of an image, which goes when this process ends."""
    return tempfile.TemporaryDirectory(prefix="tcplab-code-")


def _compile(lab: Lab, folder: Path) -> None:
    """Leave the program in the folder. A guest that has none yet runs its archive."""
    archive = job_archive(_JOB, travelling_modules(), None, open_vswitch=False)
    program, out = folder / "archive", folder / "out"
    program.write_bytes(archive)
    out.mkdir()
    with (
        claimed_processor() as processor,
        guest(GuestSettings(lab, out, Limits(), processor), program, archive) as running,
    ):
        ended = running.follow(lambda *_: None)
    usage_of(ended, out)
    (out / COMPILED).rename(folder / COMPILED)


def run_in_guest(
    lab: Lab,
    module: str,
    data: Any,
    seed: int,
    out: Path,
    progress: Progress,
    limits: Limits | None = None,
    files: Mapping[str, bytes] | None = None,
    real_time: bool = False,
    sandbox: type[Sandbox] | None = None,
    loud: bool = False,
) -> Usage:
    """Run `perform(data, job)` of `module` in a fresh guest, with its results in `out`.

    `out` is an empty folder. `files` go along, by name. `real_time` is not repeatable: for a
    guest that somebody types into. `sandbox` is the best that this machine allows, unless named. A
    `loud` kernel prints all that it has to say; its packets are other ones.

    Raises TcplabError with the guest's own message if it fails, is stopped or dies; what it had
    delivered by then stays in `out`.
    """
    code = compiled_code(lab)
    archive = job_archive(module, data, files, seed=seed, clock=EPOCH, **lacking(lab))
    options, limits = (real_time, sandbox, loud), limits or Limits()
    with claimed_processor() as processor:
        settings = GuestSettings(lab, out, limits, processor, *options)
        with guest(settings, code, archive) as running:
            ended = running.follow(progress)
    return usage_of(ended, out)


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
