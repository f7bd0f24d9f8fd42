"""A run from outside: the testbed chosen, every seed carried out, the run directory finished, the report made."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import testbed
from experiments.spec import ExperimentSpec
from experiments.store import Run, give_to, new_run, point_latest
from testbed import cache
from testbed.archive import code_digest
from testbed.caller import who_typed_sudo
from testbed.lab import Lab
from testbed.native import obstacles, run_natively
from testbed.running import Limits, Progress, Usage
from testbed.virtual import run_in_guest
from topologies.data import digest, to_data
from topologies.errors import TcplabError, UsageError

Testbed = Literal["native", "virtual"]
PROCEDURE = "experiments.procedure"
_ROOT = Path(testbed.__file__).resolve().parent.parent
_GUEST_MIB = 1024
_START = 11.0  # seconds until Open vSwitch may be started in a guest
_CONDITION_OVERHEAD = 6.0  # seconds; a condition's servers, captures and the drain of buffers, as a guess for the bar


@dataclass(frozen=True)
class Request:
    """What to run: a spec, the parameters it was made from, seeds, and where."""

    spec: ExperimentSpec
    parameters: Any
    seeds: tuple[int, ...]
    testbed: Testbed
    out: Path
    limits: Limits = field(default_factory=Limits)

    def expected_seconds(self) -> float:
        """About how long one seed takes on its own clock."""
        longest = max(flow.duration.seconds for flow in self.spec.flows)
        return _START + len(self.spec.conditions) * (1.3 * longest + _CONDITION_OVERHEAD)


def choose(asked: str) -> Testbed:
    """The testbed that `auto`, `native` or `virtual` means here. Raises TcplabError where native cannot be."""
    if asked == "virtual":
        return _virtual()
    problems = obstacles()
    if asked == "native" and problems:
        raise problems[0]
    return _virtual() if problems else "native"


def _virtual() -> Testbed:
    if platform.machine() != "x86_64":
        raise TcplabError(
            f"The lab kernel exists for x86-64 only, and this is {platform.machine()}.",
            "Run natively: sudo ./tcplab run NAME --testbed native",
        )
    return "virtual"


def memory_for(request: Request) -> int:
    """MiB that a guest needs: captures of a condition are kept in its memory until it is over.

    Raises UsageError where this machine has not that much.
    """
    largest = request.spec.capture_bytes() // len(request.spec.conditions)
    wanted = _GUEST_MIB + 3 * (largest >> 20)
    free = _available_mib()
    if request.testbed == "virtual" and wanted > _GUEST_MIB and wanted > free:
        raise UsageError(
            f"The captures would take about {largest >> 20} MiB a condition, and {free} MiB of memory are free.",
            "Lower --duration or --bw.",
        )
    return wanted


def _available_mib() -> int:
    """Memory that can be had without swapping, proc_meminfo(5)."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) >> 10 for line in lines if line.startswith("MemAvailable:"))


def carry_out(request: Request, ready: Lab | None, progress: Callable[[int], Progress]) -> Path:
    """Run all seeds and return the finished run directory, whose manifest says whether its conditions held.

    `ready` is the lab of the virtual testbed. `progress(index)` gives the progress callback of the seed at that
    place. Raises TcplabError where a run failed; what it measured is kept and marked.
    """
    with new_run(request.out, request.spec.name, request.seeds[0]) as run:
        record = _Record(request)
        try:
            _prepare(run, request)
            carry = _carrier(request, ready, record)
            for index, seed in enumerate(request.seeds):
                out = run.folder / "raw" / f"seed-{seed}"
                out.mkdir()
                record.usages.append(carry(seed, out, progress(index)))
                record.judge(seed, out)
            record.status = "failed" if record.failures else "complete"
        except TcplabError as error:
            record.failures.append(str(error))
            error.remedy = f"{error.remedy} What was measured is kept in {run.place}.".strip()
            raise
        except KeyboardInterrupt:
            record.status = "interrupted"
            record.failures.append("The run was stopped by hand.")
            raise
        finally:
            folder = run.finish(record.manifest())
            _hand_over(folder)
    return folder


@dataclass
class _Record:
    """What becomes the manifest, collected while a run goes on."""

    request: Request
    status: str = "failed"
    failures: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    started: str = field(default_factory=lambda: datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"))
    usages: list[Usage] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def judge(self, seed: int, out: Path) -> None:
        """Take down what a seed's own evidence says: conditions that it does not prove, transfers that were cut off."""
        for condition in self.request.spec.conditions:
            evidence = json.loads((out / condition.name / "evidence.json").read_text())
            where = f"Seed {seed}, {condition.label}:"
            self.warnings += [f"{where} {warning}" for warning in evidence["warnings"]]
            self.failures += [
                f"{where} not proved that {proof['claim']} ({'; '.join(proof['observed'])})."
                for proof in evidence["proofs"]
                if not proof["held"]
            ]

    def manifest(self) -> dict[str, Any]:
        spec = self.request.spec
        return {
            "tcplab": testbed.VERSION, "experiment": spec.name, "claim": spec.claim, "status": self.status,
            "failures": self.failures, "warnings": self.warnings, "testbed": self.request.testbed,
            "seeds": list(self.request.seeds),
            "spec_digest": digest(spec), "code_digest": code_digest(), **self.facts, "started": self.started,
            "virtual_seconds": round(sum(usage.clock_seconds for usage in self.usages), 6),
            "wall_seconds": round(sum(usage.wall_seconds for usage in self.usages), 3),
            "cpu_seconds": round(sum(usage.cpu_seconds for usage in self.usages), 2),
            "peak_memory_bytes": max((usage.memory for usage in self.usages), default=0),
        }  # fmt: skip


def _prepare(run: Run, request: Request) -> None:
    spec = {"parameters": to_data(request.parameters), **to_data(request.spec)}
    (run.folder / "spec.json").write_text(json.dumps(spec, indent=1) + "\n")
    (run.folder / "raw").mkdir()


def _carrier(request: Request, ready: Lab | None, record: _Record) -> Callable[[int, Path, Progress], Usage]:
    """What carries one seed out on the request's testbed; its kernel and tools go on record."""
    data = to_data(request.spec)
    if ready is None:
        record.facts = {"kernel": {"release": platform.release()}}
        return lambda _seed, out, progress: run_natively(PROCEDURE, data, out, progress, request.limits)
    record.facts = _lab_facts(ready)
    return lambda seed, out, progress: run_in_guest(ready, PROCEDURE, data, seed, out, progress, request.limits)


def _lab_facts(ready: Lab) -> dict[str, Any]:
    return {
        "kernel": {"release": ready.kernel_release, "seccomp": ready.seccomp, "digest": ready.digests["kernel"]},
        "image": {"digest": ready.digests["image"]}, "lab_digest": ready.digests["whole"],
        "tools": dict(ready.packages),
    }  # fmt: skip


def _hand_over(folder: Path) -> None:
    """Point `latest` at the run; under sudo everything that was written belongs to who typed it."""
    point_latest(folder)
    if caller := who_typed_sudo():
        give_to(folder.parent, *caller)
        os.chown(folder.parent.parent, *caller)


def _as_caller() -> list[str]:
    """What to put before a command so that it runs as who typed sudo."""
    caller = who_typed_sudo()
    return (
        ["setpriv", "--reuid", str(caller[0]), "--regid", str(caller[1]), "--init-groups", "--reset-env"]
        if caller
        else []
    )


@contextmanager
def reporter() -> Iterator[Callable[[Path], int]]:
    """The analysis, loading while the experiment runs. Call the result once with the run directory: its exit status.

    A process of its own: it reads a run directory as anyone's, and never as root where someone typed sudo.
    """
    command = [*_as_caller(), sys.executable, "-m", "analysis", "report", "--wait"]
    # Its fonts are listed once, in a place that can be written to; a home folder may not be there.
    environment = os.environ | {"MPLCONFIGDIR": str(cache.folder() / "matplotlib")}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, text=True, cwd=_ROOT, env=environment, process_group=0)

    def report(run: Path) -> int:
        process.communicate(f"{run.resolve()}\n")
        return int(process.returncode)

    try:
        yield report
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
