"""A point of a sweep: one combination under one seed, and what identifies it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from analysis.measures.metrics import GROUP
from experiments.harness.definition.catalogue import part
from experiments.harness.definition.grid import Combination
from experiments.harness.running.seed import memory_for
from experiments.spec import DEFAULT_KERNEL
from testbed.jobs.archive import code_digest, fingerprint
from testbed.lab.ready import Lab, built_lab
from topologies.disciplines import GROUP as DISCIPLINES
from topologies.foundation.plugins import registered
from topologies.foundation.untrusted import digest_of

_MEASURE = "experiments.harness.sweep.measure"
ROWS = f"{_MEASURE}:measured_rows"
CAPTURES = f"{_MEASURE}:measured_captures"
"""The functions that measure points of sweeps, and of reproductions that need the captures too."""

Record = dict[str, Any]
"""The record of a point: status (complete, unproved, failed), rows, warnings, problem, log,
usage, statistics.

A point that is *unproved* ran, but its own evidence does not show that its conditions held; it
would end like that again. One that *failed* may not.
"""


@dataclass(frozen=True)
class Origin:
    """The origin of records: the lab, and the code that runs and measures.

    `lab` is the digest of the lab, in which a point on another kernel replaces its own. `measures`
    is the module or MODULE:FUNCTION that measures, `measuring` the fingerprint of the module.
    """

    lab: str
    code: str
    measures: str
    measuring: str

    def point(self, combination: Combination, seed: int) -> Point:
        """Return the point of that combination and seed."""
        own = self._on(combination.spec.kernel)
        words: tuple[Any, ...] = (
            combination.digest,
            seed,
            memory_for(combination.spec),
            own.lab,
            self.code,
            self.measures,
            self.measuring,
            *_statistics_digest(combination.spec.name),
        )
        key = hashlib.sha256(repr(words).encode()).hexdigest()
        return Point(key, combination, seed, own)

    @property
    def metric(self) -> str:
        """The expression that is measured; empty if it is a column."""
        return self.measures.partition(" ")[2]

    def _on(self, kernel: str) -> Origin:
        """Return the origin with the lab on that kernel, which is built."""
        if kernel == DEFAULT_KERNEL:
            return self
        return replace(self, lab=built_lab(kernel).digests["whole"])


@dataclass(frozen=True)
class Point:
    """One run of a sweep. Equal keys give equal records."""

    key: str
    combination: Combination
    seed: int
    origin: Origin


@cache
def _statistics_digest(study: str) -> tuple[str, ...]:
    """Return the digest of the code that writes statistics files, if the study keeps some."""
    module = part(study, "statistics_file")
    if module is None or module.__file__ is None:
        return ()
    return (digest_of(Path(module.__file__)),)


def origin(lab: Lab, measures: str = ROWS) -> Origin:
    """Return the origin of records that this module or MODULE:FUNCTION measures now.

    Packages that add metrics or disciplines are part of it. Raises ModuleNotFoundError.
    """
    measuring = fingerprint(measures.partition(":")[0])
    if packages := sorted(
        {
            f"{each.package} {each.version}"
            for group in (GROUP, DISCIPLINES)
            for each in registered(group).values()
        }
    ):
        measuring = hashlib.sha256(repr([measuring, *packages]).encode()).hexdigest()
    return Origin(lab.digests["whole"], code_digest(), measures, measuring)
