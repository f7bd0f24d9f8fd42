"""A run from outside: testbed chosen, every seed carried out, run directory finished."""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import testbed
from experiments.harness.running.seed import (
    SeedVerdict,
    carry_natively,
    carry_seed,
    judge,
    needed_mib,
)
from experiments.harness.running.store import RunFolder, hand_over, new_run
from experiments.spec import ExperimentSpec
from testbed.engine.tasks import Task
from testbed.engine.threads import local_engine
from testbed.host.capacity import guests_at_once
from testbed.jobs.archive import code_digest
from testbed.jobs.following import Limits, Progress, Usage
from testbed.lab.ready import Lab
from testbed.lab.released import release_of
from testbed.native.native_run import obstacles
from testbed.virtual.choice import allowed_sandbox
from topologies.foundation.data import digest, to_data
from topologies.foundation.errors import TcplabError

Testbed = Literal["native", "virtual"]
Published = tuple[dict[str, Any], ...]
"""Published numbers as spec.json has them."""
NetworkJudge = Callable[[Path], dict[str, Any] | None]
"""Gives the verdict on the network of a run that lacks only its manifest (docs/verdict.md)."""
_START = 11.0  # seconds until Open vSwitch may be started in a guest
_CONDITION_OVERHEAD = 6.0
"""Seconds; a condition's servers, captures and the drain of buffers, as a guess for the bar."""


@dataclass(frozen=True)
class RunRequest:
    """What to run: a spec, the parameters it was made from, seeds, and a testbed."""

    spec: ExperimentSpec
    parameters: Any
    seeds: tuple[int, ...]
    testbed: Testbed
    out: Path
    limits: Limits = field(default_factory=Limits)
    load_modules: bool = False  # into the kernel of this computer, if the run is native
    published: Callable[[], Published] = tuple
    """Finds the numbers with these very settings, for the report, while the seeds are carried out
    (experiments.harness.published.points).
    """
    settings: tuple[str, ...] = ()
    """What `--set` was given beside parameters, so that a page can say how to repeat the run."""

    def expected_seconds(self) -> float:
        """About how long one seed takes on its own clock."""
        longest = max(flow.end.seconds for flow in self.spec.flows)
        return _START + len(self.spec.conditions) * (1.3 * longest + _CONDITION_OVERHEAD)


def choose(name: str) -> Testbed:
    """The testbed that `auto`, `native` or `virtual` means here.

    Raises TcplabError if native runs are not possible.
    """
    if name == "virtual":
        return _virtual()
    problems = obstacles()
    if name == "native" and problems:
        raise problems[0]
    return _virtual() if problems else "native"


def _virtual() -> Testbed:
    if platform.machine() != "x86_64":
        raise TcplabError(
            f"The lab kernel exists for x86-64 only, and this is {platform.machine()}.",
            "Run natively: sudo ./tcplab run NAME --testbed native",
        )
    return "virtual"


def carry_out(
    request: RunRequest,
    ready: Lab | None,
    progress: Callable[[int], Progress],
    judged: NetworkJudge | None = None,
) -> Path:
    """Run all seeds and return the finished run directory.

    Its manifest says whether its conditions held, and if `judged` can tell it, what the network
    was worth.

    `ready` is the lab of the virtual testbed. `progress(index)` gives the progress callback of
    the seed at that place. Raises TcplabError if a seed failed, after the others; what was
    measured is kept and marked.
    """
    shelf, label = request.out / request.spec.name, f"seed{request.seeds[0]}"
    with new_run(shelf, label) as run, ThreadPoolExecutor(1) as beside:
        record = _Record(
            request,
            facts=_facts(ready),
        )
        try:
            _prepare(run, request)
            published = beside.submit(request.published)
            for seed, ended in carried(request, ready, run.folder / "raw", progress):
                record.take(seed, ended, run.folder / "raw" / f"seed-{seed}")
            _write_spec(run, request, published.result())
            record.finish()
            record.network = judged(run.folder) if judged else None
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


Ended = Usage | TcplabError
"""What a seed took, or why it failed."""


def carried(
    request: RunRequest, ready: Lab | None, raw: Path, progress: Callable[[int], Progress]
) -> Iterator[tuple[int, Ended]]:
    """All seeds as they end: one at a time in real time or if there is one, else in parallel."""
    for seed in request.seeds:
        (raw / f"seed-{seed}").mkdir()
    if ready and len(request.seeds) > 1:
        yield from _at_once(request, ready, raw, progress)
        return
    for index, seed in enumerate(request.seeds):
        yield seed, _alone(request, ready, seed, raw / f"seed-{seed}", progress(index))


def _alone(
    request: RunRequest, ready: Lab | None, seed: int, out: Path, progress: Progress
) -> Ended:
    data = to_data(request.spec)
    try:
        if ready:
            return carry_seed(data, seed, str(out), request.limits, ready, progress)
        return carry_natively(
            request.spec, out, request.limits, progress, load_modules=request.load_modules
        )
    except TcplabError as error:
        return error


def _at_once(
    request: RunRequest, ready: Lab, raw: Path, progress: Callable[[int], Progress]
) -> Iterator[tuple[int, Ended]]:
    class Followed:
        def running(self, key: str, phase: str, elapsed: float) -> None:
            progress(places[key])(phase, elapsed)

        def note(self, text: str) -> None:
            """This process is the only worker."""

    data = to_data(request.spec)
    places = {f"seed-{seed}": index for index, seed in enumerate(request.seeds)}
    tasks = [
        Task(key, carry_seed, (data, request.seeds[index], str(raw / key), request.limits))
        for key, index in places.items()
    ]
    slots = min(len(tasks), guests_at_once(needed_mib(request.spec)))
    with local_engine(ready, slots, Followed()) as engine:
        for done in engine.run(tasks):
            progress(places[done.key])("", request.expected_seconds())
            yield request.seeds[places[done.key]], done.result()


@dataclass
class _Record:
    """What becomes the manifest, collected while a run goes on."""

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
        """Take down how a seed ended and what its own evidence says."""
        if isinstance(ended, TcplabError):
            self.errors[seed] = ended
            return
        self.usages.append(ended)
        self.verdicts[seed] = judge(self.request.spec, seed, raw)

    def finish(self) -> None:
        """All seeds have ended. Raises the error of the first that failed."""
        if self.errors:
            raise self.errors[min(self.errors)]
        self.failures = [
            failure for _, verdict in sorted(self.verdicts.items()) for failure in verdict.failures
        ]
        self.status = "failed" if self.failures else "complete"

    def fail(self, error: TcplabError) -> None:
        """Take down what ended the run: every seed's own error, else one that is no seed's."""
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


def _prepare(run: RunFolder, request: RunRequest) -> None:
    _write_spec(run, request)
    (run.folder / "raw").mkdir()


def _write_spec(run: RunFolder, request: RunRequest, published: Published = ()) -> None:
    spec = {
        "parameters": to_data(request.parameters),
        "settings": list(request.settings),
        "published": published,
        **to_data(request.spec),
    }
    (run.folder / "spec.json").write_text(json.dumps(spec, indent=1) + "\n")


def _facts(ready: Lab | None) -> dict[str, Any]:
    """What a manifest says of where the run was made; natively there is no lab."""
    if not ready:
        return {"kernel": {"release": platform.release()}}
    return lab_facts(ready) | {"sandbox": allowed_sandbox(ready.confine).as_data()}


def lab_facts(ready: Lab) -> dict[str, Any]:
    """What a manifest says of the lab that a run was made in."""
    return {
        "kernel": {
            "release": ready.kernel_release,
            "seccomp": ready.seccomp,
            "digest": ready.digests["kernel"],
        },
        "image": {"digest": ready.digests["image"]},
        "lab_digest": ready.digests["whole"],
        "release": release_of(ready.digests),
        "tools": dict(ready.packages),
    }


def for_page(ready: Lab) -> dict[str, Any]:
    """The same for a page: what its analysis shows, without the list of all packages."""
    facts = {name: value for name, value in lab_facts(ready).items() if name != "tools"}
    digests = {
        "kernel": ready.digests["kernel"],
        "image": ready.digests["image"],
        "code": code_digest(),
    }
    return facts | {"digests": digests}
