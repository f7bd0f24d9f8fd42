"""A run: the lab ready, seeds carried out, the folder finished, the report made."""

import json
import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

from experiments.run.report import Reporter
from experiments.run.request import RunOptions, RunRequest
from experiments.run.seed import SeedVerdict, judge, run_seed, run_seed_natively
from experiments.run.store import Facts, RunFolder, require_writable, result_folder
from experiments.spec import DEFAULT_KERNEL
from experiments.study.catalogue import find
from testbed.builds import shown
from testbed.engine import Listener, Task, local_engine
from testbed.host.job_archive import code_digest
from testbed.host.supervise import Limits, Usage
from testbed.lab.kernel.choice import chosen
from testbed.lab.ready import Lab, lab_for, release_of
from testbed.modules import build_all
from testbed.virtual.guest import require_limits
from testbed.virtual.sandbox import allowed_sandbox
from topologies.data import digest
from topologies.errors import TcplabError


def ready_lab(kernels: Iterable[str] | None = None) -> Lab:
    """Return the lab with these kernels, built the first time. Raises TcplabError."""
    require_limits(Limits())
    with shown(sys.stderr) as report:
        return lab_for([DEFAULT_KERNEL] if kernels is None else kernels, report)


def lab_on(kernel: str | None) -> Lab:
    return ready_lab([str(chosen(kernel))] if kernel else None)


def lab_facts(ready: Lab) -> dict[str, Any]:
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
    digests = {name: ready.digests[name] for name in ("kernel", "image")}
    facts = lab_facts(ready) | {"digests": digests | {"code": code_digest()}}
    del facts["tools"]
    return facts


Published = tuple[dict[str, Any], ...]  # published numbers as spec.json has them
Judge = Callable[[Path], dict[str, Any] | None]
"""Returns the verdict on the network of a run that lacks only its manifest, None without one."""
_SILENT = Listener()


def run(
    request: RunRequest, progress: Listener = _SILENT, words: IO[str] | None = None
) -> tuple[Path, int]:
    """Carry out a request, make its report, which prints to `words`; return folder and status."""
    require_writable(request.out)
    # The analysis loads while the run goes on.
    with closing(Reporter(request.spec.name, words)) as report:
        lab = ready_lab([request.spec.kernel]) if request.testbed == "virtual" else None
        if lab:
            build_all(request.spec.modules, lab)  # an error in a module is no failed run
        folder = carry_out(request, lab, progress, report.judge)
        return folder, report(folder)


def carry_out(
    request: RunRequest, lab: Lab | None, progress: Listener = _SILENT, judged: Judge | None = None
) -> Path:
    """Run all seeds, natively without a lab, and return the finished run without its report.

    Raises TcplabError if a seed failed, after the others; what was measured is kept and marked.
    """
    shelf, label = request.out / request.spec.name, f"seed{request.seeds[0]}"
    if lab:
        facts = lab_facts(lab) | {"sandbox": allowed_sandbox(lab.confine).as_data()}
    else:
        facts = {"kernel": {"release": platform.release()}}
    record = _Record(request, facts)
    with result_folder(shelf, label, record.manifest) as run, ThreadPoolExecutor(1) as aside:
        try:
            _write_spec(run, request)
            (run.folder / "raw").mkdir()
            published = aside.submit(_published, request)  # the guest does not wait for this
            for seed, ended in carried(request, lab, run.folder / "raw", progress):
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
    return run.place


def _published(request: RunRequest) -> Published:
    if not request.with_published:
        return ()
    from experiments.study.points import published_with_run

    return tuple(match.described() for match in published_with_run(request.spec))


Ended = Usage | TcplabError  # the usage of a seed, or the error that ended it


def carried(
    request: RunRequest, lab: Lab | None, raw: Path, progress: Listener = _SILENT
) -> Iterator[tuple[int, Ended]]:
    """Carry out all seeds, in the lab kernel in parallel; yield each as it ends."""
    seeds = [(seed, raw / f"seed-{seed}") for seed in request.seeds]
    for _, folder in seeds:
        folder.mkdir()
    jobs = [(request.spec, *seed, request.limits) for seed in seeds]
    if lab:
        tasks = [Task(str(job[1]), run_seed, job) for job in jobs]
        with local_engine(lab, request.guests_at_once, progress) as engine:
            for done in engine.run(tasks):
                progress.running(done.key, "", request.expected_seconds)
                yield int(done.key), done.result()
        return
    for job in jobs:
        report, load = partial(progress.running, str(job[1])), request.load_modules
        try:
            yield job[1], run_seed_natively(*job, report, load_modules=load)
        except TcplabError as error:
            yield job[1], error


@dataclass
class _Record:
    """The facts of a manifest, collected during a run."""

    request: RunRequest
    facts: dict[str, Any]
    status: str = "failed"
    failures: list[str] = field(default_factory=list)
    usages: list[Usage] = field(default_factory=list)
    verdicts: dict[int, SeedVerdict] = field(default_factory=dict)
    errors: dict[int, TcplabError] = field(default_factory=dict)
    network: dict[str, Any] | None = None

    def take(self, seed: int, ended: Ended, raw: Path) -> None:
        if isinstance(ended, TcplabError):
            self.errors[seed] = ended
            return
        self.usages.append(ended)
        self.verdicts[seed] = judge(self.request.spec, seed, raw)

    def sentences(self, kind: Literal["failures", "warnings"]) -> list[str]:
        verdicts = (verdict for _, verdict in sorted(self.verdicts.items()))
        return [sentence for verdict in verdicts for sentence in getattr(verdict, kind)]

    def finish(self) -> None:
        """Set the status after the last seed. Raises the error of the first seed that failed."""
        if self.errors:
            raise self.errors[min(self.errors)]
        self.failures = self.sentences("failures")
        self.status = "failed" if self.failures else "complete"

    def fail(self, error: TcplabError) -> None:
        each = [f"Seed {seed}: {why}" for seed, why in sorted(self.errors.items())]
        self.failures += each or [str(error)]

    def manifest(self, _run: RunFolder, facts: Facts) -> dict[str, Any]:
        spec = self.request.spec
        return {
            **facts,
            "experiment": spec.name,
            "claim": spec.claim,
            "status": self.status,
            "failures": self.failures,
            "warnings": self.sentences("warnings"),
            "testbed": self.request.testbed,
            "seeds": list(self.request.seeds),
            "spec_digest": digest(spec),
            "code_digest": code_digest(),
            **self.facts,
            "virtual_seconds": round(sum(usage.clock_seconds for usage in self.usages), 6),
            "wall_seconds": round(sum(usage.wall_seconds for usage in self.usages), 3),
            "cpu_seconds": round(sum(usage.cpu_seconds for usage in self.usages), 2),
            "peak_memory_bytes": max((usage.memory for usage in self.usages), default=0),
            **({"network": self.network} if self.network else {}),
        }


def _write_spec(run: RunFolder, request: RunRequest, published: Published = ()) -> None:
    spec = request.written | {"published": published}
    (run.folder / "spec.json").write_text(json.dumps(spec, indent=1) + "\n")


def run_from_python(
    experiment: str,
    settings: Mapping[str, str] | None = None,
    *,
    seeds: int | Sequence[int] | None = None,
    testbed: str = "virtual",
    out: Path | str = "runs",
) -> Path:
    """Run an experiment as `tcplab run` does, make its report, and return the run's directory.

    `settings` are parameters, fields of the spec or sysctls, with values as they are typed:
    `{"loss": "2%"}`. `seeds` is a number, counted from 1, or a list; by default as many as the
    claim of the experiment needs. Raises UsageError before anything runs if a name or a value is
    impossible, TcplabError if a seed failed.
    """
    counted = tuple(range(1, seeds + 1)) if isinstance(seeds, int) else seeds
    options = RunOptions(
        find(experiment),
        settings=tuple(f"{name}={value}" for name, value in (settings or {}).items()),
        seeds=None if counted is None else tuple(counted),
        testbed=testbed,
        out=Path(out),
    )
    folder, _status = run(options.request())
    return folder
