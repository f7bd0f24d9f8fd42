"""A folder of the store for results that take long: what is known is written in any case."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import testbed
from experiments.harness.running.session import hand_over
from experiments.harness.running.store import RunFolder, new_run

Facts = dict[str, Any]
"""tcplab (its version), started, status (complete or interrupted), wall_seconds."""


@contextmanager
def result_folder(
    shelf: Path, label: str, write: Callable[[RunFolder, Facts], dict[str, Any]]
) -> Iterator[RunFolder]:
    """A folder on a `shelf` of the store, finished at the end of the block or when it is left.

    `write(run, facts)` writes the files and returns the manifest. Raises TcplabError if nothing can
    be written there.
    """
    begun, status = time.monotonic(), "interrupted"
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    with new_run(shelf, label) as run:
        try:
            yield run
            status = "complete"
        finally:
            facts = {
                "tcplab": testbed.VERSION,
                "started": started,
                "status": status,
                "wall_seconds": round(time.monotonic() - begun, 3),
            }
            hand_over(run.finish(write(run, facts)))
