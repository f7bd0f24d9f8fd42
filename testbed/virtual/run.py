"""The virtual testbed: a sandboxed job in the lab kernel, in virtual time, repeatable by seed.

A guest may be started before it is known what it will measure: it builds the network and waits for
its order, which takes no virtual time (testbed.guest.job_entry). It may carry one seed after the
other, since the start line makes the packets of a seed the same. The thread that started it keeps
it for orders of the same network. Between two orders what it left is checked as at its end.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from testbed.builds import BuildReport, Workshop, cache
from testbed.guest.compiling import COMPILED
from testbed.guest.job_entry import LOG, ORDER, WAITING
from testbed.host.job_archive import code_digest, job_archive, travelling_modules
from testbed.host.processes import claimed_processor
from testbed.host.scratch import scratch
from testbed.host.supervise import CONSOLE, Limits, Progress, Usage
from testbed.lab.ready import Lab
from testbed.virtual.guest import EPOCH, GuestSettings, RunningGuest, guest
from testbed.virtual.processes import give, take_back
from testbed.virtual.sandbox import ordinary_user
from topologies.errors import TcplabError
from topologies.untrusted import digest_of

_JOB = "testbed.guest.compiling"


def compiled_code(lab: Lab) -> Path:
    """Return the program that runs jobs in guests of this lab. Raises TcplabError."""
    return compiled_entry(lab).folder / COMPILED


def compiled_entry(lab: Lab) -> cache.Entry:
    """Return the cache's entry of that program, equal for all kernels. Raises TcplabError."""

    def build(workshop: Workshop) -> cache.Facts:
        """Leave the program in the workshop. A guest that has none yet runs its archive."""
        archive = job_archive(_JOB, travelling_modules(), None, open_vswitch=False)
        program, out = workshop.folder / "archive", workshop.folder / "out"
        program.write_bytes(archive)
        out.mkdir()
        with (
            claimed_processor() as processor,
            guest(GuestSettings(lab, out, Limits(), processor), program, archive) as running,
        ):
            ended = running.follow(lambda *_: None)
        ended.usage(out)
        (out / COMPILED).rename(workshop.folder / COMPILED)
        return {}

    image = lab.digests.get("image") or digest_of(lab.image)
    recipe = cache.Recipe("code", (), (COMPILED,), build, f"{image} {code_digest()}")
    return cache.ready(recipe, BuildReport())


def run_in_guest(
    lab: Lab,
    module: str,
    data: Any,
    seed: int,
    out: Path,
    progress: Progress,
    limits: Limits | None = None,
    files: Mapping[str, bytes] | None = None,
    known: Any = None,
    **options: Any,
) -> Usage:
    """Run `perform(data, job)` of `module` in a fresh guest, with its results in the empty `out`.

    `files` go along, by name. A guest that has `known` from the start gets `data` as its order.
    `options` are those of GuestSettings. Raises TcplabError; what was delivered stays in `out`.
    """
    with claimed_processor() as processor, ExitStack() as started:
        settings = GuestSettings(lab, out, limits or Limits(), processor, **options)
        if known is not None and lab.takes_orders:
            running = started.enter_context(guest_ahead(settings, module, known))
            running.order(ordered(data, seed))
        else:
            facts: dict[str, Any] = {"seed": seed}
            if known is not None:  # its kernel takes no orders
                files, facts = {ORDER: json.dumps(ordered(data, seed)).encode()}, {"ahead": True}
                data = known
            archive = job_archive(
                module, data, files, clock=EPOCH, **facts, open_vswitch=lab.open_vswitch
            )
            running = started.enter_context(guest(settings, compiled_code(lab), archive))
        ended = running.follow(progress)
    return ended.usage(out)


def ordered(order: Any, seed: int, last: bool = True) -> dict[str, Any]:
    """Return the message that orders this of a guest, which after the `last` one ends."""
    return {"data": order, "seed": seed, "last": last}


_PATIENCE = 300.0  # seconds that a guest may take until it waits, on a busy machine


@contextmanager
def guest_ahead(settings: GuestSettings, module: str, known: Any) -> Iterator[RunningGuest]:
    """Provide a guest that waits, without processor time, and knows `known`. Raises TcplabError."""
    lab = settings.lab
    archive = job_archive(
        module, known, None, ahead=True, clock=EPOCH, open_vswitch=lab.open_vswitch
    )
    with guest(replace(settings, takes_orders=True), compiled_code(lab), archive) as running:
        if running.first_message("A guest", _PATIENCE) != WAITING:
            raise TcplabError("The guest did not say that it waits.", "Run it again.")
        yield running


_GROWING = (CONSOLE, LOG)  # files that the guest holds open
_MOST_ORDERS = 50  # then its memory is filled with what it kept
_SHARE = 0.2  # of the processor time after which its kernel would be ended, as for one run


@dataclass
class _KeptGuest:
    """A guest that waits for orders on the network `key`, and how much of its logs is known."""

    key: str
    running: RunningGuest
    folder: Path
    end: ExitStack
    known: dict[str, int] = field(default_factory=dict)
    orders: int = 0
    cpu_seconds: float = 0.0

    def run(self, order: Any, out: Path, progress: Progress) -> Usage:
        """Carry an order out, with its results in `out`. Raises TcplabError, and is of no use."""
        try:
            ended = self.running.carry(order, progress)
        finally:
            take_back(self.folder, give(self.folder, ordinary_user()))
            self._hand_out(out)
        give(self.folder, ordinary_user())
        self.orders += 1
        self.cpu_seconds += ended.taken.cpu - ended.before
        return ended.usage(out)

    def _hand_out(self, out: Path) -> None:
        for file in sorted(self.folder.iterdir()):
            if file.name not in _GROWING:
                shutil.move(file, out / file.name)
                continue
            known, content = self.known.get(file.name, 0), file.read_bytes()
            self.known[file.name] = len(content)
            (out / file.name).write_bytes(content[known:])


class GuestKeeper:
    """The guests of threads that have joined, one each."""

    def __init__(self) -> None:
        self._guests: dict[int, _KeptGuest] = {}

    def join(self) -> None:
        """Keep the guests of the calling thread too, until `keeping_guests` ends."""
        _joined.keeper = self

    def run(
        self,
        lab: Lab,
        module: str,
        data: Any,
        seed: int,
        out: Path,
        progress: Progress,
        limits: Limits,
        known: Any,
    ) -> Usage:
        """Run as `run_in_guest`, in a guest that knows `known`, used or new. Raises TcplabError."""
        key = json.dumps([lab.digests, module, known, repr(limits)], sort_keys=True)
        guest = self._guests.get(threading.get_ident())
        most = _SHARE * limits.wall_seconds
        is_of_use = guest and guest.key == key and guest.orders < _MOST_ORDERS
        if guest is None or not is_of_use or guest.cpu_seconds > most:
            self.forget()
            guest = self._started(key, lab, module, known, limits)
            self._guests[threading.get_ident()] = guest
        try:
            return guest.run(ordered(data, seed, last=False), out, progress)
        except BaseException:
            self.forget()
            raise

    def _started(self, key: str, lab: Lab, module: str, known: Any, limits: Limits) -> _KeptGuest:
        with ExitStack() as starting:
            enter = starting.enter_context
            folder, processor = enter(scratch()), enter(claimed_processor())
            settings = GuestSettings(lab, folder, limits, processor)
            running = enter(guest_ahead(settings, module, known))
            return _KeptGuest(key, running, folder, starting.pop_all())

    def forget(self) -> None:
        """End the thread's guest, if it has one."""
        if guest := self._guests.pop(threading.get_ident(), None):
            guest.end.close()

    def end(self) -> None:
        with ExitStack() as all_of_them:
            for guest in self._guests.values():
                all_of_them.push(guest.end)


_joined = threading.local()


@contextmanager
def keeping_guests() -> Iterator[GuestKeeper]:
    """Keep guests of this thread, and of those that join, which carry no order by the end."""
    keeper, before = GuestKeeper(), getattr(_joined, "keeper", None)
    keeper.join()
    try:
        yield keeper
    finally:
        _joined.keeper = before
        keeper.end()


@contextmanager
def guest_keeper() -> Iterator[GuestKeeper]:
    """Provide what keeps this thread's guests; if they are not kept, for the block alone."""
    if keeper := getattr(_joined, "keeper", None):
        yield keeper
        return
    with keeping_guests() as alone:
        yield alone
