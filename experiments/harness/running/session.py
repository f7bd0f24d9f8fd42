"""A run: every seed carried out, the run directory finished, the report made."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

import testbed
from experiments.harness.running.lab import facts_of, ready_lab
from experiments.harness.running.report import Reporter
from experiments.harness.running.request import RunRequest
from experiments.harness.running.seed import SeedVerdict, carry_natively, carry_seed, judge
from experiments.harness.running.store import RunFolder, hand_over, new_run, require_writable
from testbed.engine.tasks import Listener, Task, local_engine
from testbed.jobs.archive import code_digest
from testbed.jobs.following import Progress, Usage
from testbed.lab.ready import Lab
from testbed.modules.module_build import build_all
from topologies.foundation.data import digest
from topologies.foundation.errors import TcplabError

Published = tuple[dict[str, Any], ...]
"""Published numbers as spec.json has them."""
Judge = Callable[[Path], dict[str, Any] | None]
"""Returns the verdict on the network of a run that lacks only its manifest, None without one."""
_SILENT = Listener()


def no_verdict(_run: Path) -> None:
    """Judge no network."""


@dataclass(frozen=True)
class FinishedRun:
    """A run in its place, and the exit status of its report."""

    folder: Path
    status: int


def run(
    request: RunRequest, progress: Listener = _SILENT, words: IO[str] | None = None
) -> FinishedRun:
    """Carry out a request and make its report, which prints to `words` or standard output.

    Raises TcplabError if a seed failed, after the others; what was measured is kept and marked.
    """
    require_writable(request.out)
    # The analysis loads while the run goes on.
    with closing(Reporter(request.spec.name, words)) as report:
        lab = ready_lab([request.spec.kernel]) if request.testbed == "virtual" else None
        if lab:
            build_all(request.spec.modules, lab)  # an error in a module is no failed run
        folder = carry_out(request, lab, progress, report.judge)
        return FinishedRun(folder, report(folder))


def carry_out(
    request: RunRequest,
    lab: Lab | None,
    progress: Listener = _SILENT,
    judged: Judge = no_verdict,
) -> Path:
    """Run all seeds and return the finished run directory, without its report.

    A native run has no lab. Raises TcplabError if a seed failed, after the others; what was
    measured is kept and marked.
    """
    shelf, label = request.out / request.spec.name, f"seed{request.seeds[0]}"
    with new_run(shelf, label) as run, ThreadPoolExecutor(1) as aside:
        record = _Record(request, facts_of(lab))
        try:
            _write_spec(run, request)
            (run.folder / "raw").mkdir()
            published = aside.submit(_published, request)  # the guest does not wait for this
            for seed, ended in carried(request, lab, run.folder / "raw", progress):
                record.take(seed, ended, run.folder / "raw" / f"seed-{seed}")
            _write_spec(run, request, published.result())
            record.finish()
            record.network = judged(run.folder)
        except TcplabError as error:
            record.fail(error)
            error.remedy = f"{error.remedy} What was measured is kept in {run.place}.".strip()
            raise
        except KeyboardInterrupt:
            record.status = "interrupted"
            record.failures.append("The run was stopped by hand.")
            raise
        finally:
            folder = run.finish(record.manifest())
            hand_over(folder)
    return folder


def _published(request: RunRequest) -> Published:
    if not request.with_published:
        return ()
    from experiments.harness.published.points import published_with_run

    return tuple(match.described() for match in published_with_run(request.spec))


Ended = Usage | TcplabError
"""The usage of a seed, or the error that ended it."""


def carried(
    request: RunRequest, lab: Lab | None, raw: Path, progress: Listener = _SILENT
) -> Iterator[tuple[int, Ended]]:
    """Carry out all seeds, in the lab kernel in parallel; yield each as it ends."""
    folders = {seed: raw / f"seed-{seed}" for seed in request.seeds}
    for folder in folders.values():
        folder.mkdir()
    if lab:
        yield from _in_guests(request, lab, folders, progress)
    else:
        for seed, out in folders.items():
            yield seed, _natively(request, seed, out, partial(progress.running, str(seed)))


def _in_guests(
    request: RunRequest, lab: Lab, folders: Mapping[int, Path], progress: Listener
) -> Iterator[tuple[int, Ended]]:
    tasks = [
        Task(str(seed), carry_seed, (request.spec, seed, out, request.limits))
        for seed, out in folders.items()
    ]
    with local_engine(lab, request.guests_at_once, progress) as engine:
        for done in engine.run(tasks):
            progress.running(done.key, "", request.expected_seconds)
            yield int(done.key), done.result()


def _natively(request: RunRequest, seed: int, out: Path, progress: Progress) -> Ended:
    load, limits = request.load_modules, request.limits
    try:
        return carry_natively(request.spec, seed, out, limits, progress, load_modules=load)
    except TcplabError as error:
        return error


@dataclass
class _Record:
    """The facts of a manifest, collected during a run."""

    request: RunRequest
    facts: dict[str, Any]
    status: str = "failed"
    failures: list[str] = field(default_factory=list)
    started: str = field(
        default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    )
    usages: list[Usage] = field(default_factory=list)
    verdicts: dict[int, SeedVerdict] = field(default_factory=dict)
    errors: dict[int, TcplabError] = field(default_factory=dict)
    network: dict[str, Any] | None = None

    def take(self, seed: int, ended: Ended, raw: Path) -> None:
        """Record how a seed ended, and the verdict on its evidence."""
        if isinstance(ended, TcplabError):
            self.errors[seed] = ended
            return
        self.usages.append(ended)
        self.verdicts[seed] = judge(self.request.spec, seed, raw)

    def finish(self) -> None:
        """Set the status after the last seed. Raises the error of the first seed that failed."""
        if self.errors:
            raise self.errors[min(self.errors)]
        self.failures = [
            failure for _, verdict in sorted(self.verdicts.items()) for failure in verdict.failures
        ]
        self.status = "failed" if self.failures else "complete"

    def fail(self, error: TcplabError) -> None:
        """Record the errors that ended the run: those of seeds, or another."""
        self.failures += [f"Seed {seed}: {why}" for seed, why in sorted(self.errors.items())] or [
            str(error)
        ]

    def manifest(self) -> dict[str, Any]:
        spec = self.request.spec
        warnings = [
            warning for _, verdict in sorted(self.verdicts.items()) for warning in verdict.warnings
        ]
        return {
            "tcplab": testbed.VERSION,
            "experiment": spec.name,
            "claim": spec.claim,
            "status": self.status,
            "failures": self.failures,
            "warnings": warnings,
            "testbed": self.request.testbed,
            "seeds": list(self.request.seeds),
            "spec_digest": digest(spec),
            "code_digest": code_digest(),
            **self.facts,
            "started": self.started,
            "virtual_seconds": round(sum(usage.clock_seconds for usage in self.usages), 6),
            "wall_seconds": round(sum(usage.wall_seconds for usage in self.usages), 3),
            "cpu_seconds": round(sum(usage.cpu_seconds for usage in self.usages), 2),
            "peak_memory_bytes": max((usage.memory for usage in self.usages), default=0),
            **({"network": self.network} if self.network else {}),
        }


def _write_spec(run: RunFolder, request: RunRequest, published: Published = ()) -> None:
    spec = request.written | {"published": published}
    (run.folder / "spec.json").write_text(json.dumps(spec, indent=1) + "\n")
