"""packetdrill scripts run in guests, several in parallel, and their outcomes.

Scripts of one guest run one after the other. If one stops it, the others continue in another. The
kernel's scripts run as its ksft_runner.sh runs them, under each IP version.
"""

import re
import shlex
import shutil
import tarfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from testbed.guest.kernel_modules import DRIVER
from testbed.guest.packetdrill import OUTCOMES, PROGRAM
from testbed.host.processes import guests_at_once
from testbed.host.scratch import scratch
from testbed.host.supervise import Limits
from testbed.lab.ready import Lab
from testbed.packetdrill.scripts import SUFFIX, Script, ScriptFailure, called, failure_of
from testbed.virtual.run import run_in_guest
from topologies import untrusted
from topologies.errors import TcplabError
from topologies.notation import json_value

JOB = "testbed.guest.packetdrill"
VIRTUAL_SECONDS = 1200.0
"""What a script may take of its own clock: TCP gives up after 924 (tcp_retries2 in tcp(7))."""
WALL_SECONDS = 120.0  # limit of a script in real seconds, for those that spin: others take a moment
_MEMORY_MIB = 512
_OUTPUT_BYTES = 256 << 20
_MOST_OUTCOMES = 64 << 20  # bytes
_UNREADABLE = "The guest's outcomes are not what a guest writes."


@dataclass(frozen=True)
class ScriptCase:
    """A script with arguments that `variant` names, and sysctls of its network (NAME[=VALUE])."""

    script: Script
    variant: str = ""
    arguments: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.script.name} {self.variant}".strip()


@dataclass(frozen=True)
class ScriptOutcome:
    """The outcome of a case, whose guest may have `stopped`; seconds are of the guest's clock."""

    case: ScriptCase
    failure: ScriptFailure | None
    seconds: float | None = None
    stopped: bool = False

    @property
    def passed(self) -> bool:
        return self.failure is None

    def as_data(self) -> dict[str, Any]:
        failure = self.failure or ScriptFailure(None, "")
        script = self.case.script
        text = script.line(failure.line) if failure.line else ""
        data = {"script": script.name, "variant": self.case.variant, "passed": self.passed}
        data |= {"line": failure.line, "text": text, "message": failure.what}
        data |= {"expected": failure.expected, "came": failure.came, "seconds": self.seconds}
        return data


_Numbered = tuple[int, ScriptCase]


@dataclass(frozen=True)
class ScriptRunner:
    """A runner of cases, of which `together` share a guest; their files have different names.

    `captures` is a folder for NUMBER-SCRIPT.pcap of each case, or None. A script that is `confined`
    sees no folder of the host and has no right outside its network.
    """

    lab: Lab
    program: Path
    seed: int = 1
    together: int = 1
    wall_seconds: float = WALL_SECONDS
    captures: Path | None = None
    workers: int | None = None
    confined: bool = False
    stop: threading.Event = field(default_factory=threading.Event)

    def run(self, cases: Sequence[ScriptCase]) -> Iterator[ScriptOutcome]:
        """Yield the outcomes in the order of the cases. Raises TcplabError if no guest can run."""
        numbered = list(enumerate(cases, 1))
        parts = [numbered[at : at + self.together] for at in range(0, len(cases), self.together)]
        workers = min(max(1, len(parts)), guests_at_once(_MEMORY_MIB, self.workers))
        with ThreadPoolExecutor(workers) as pool:
            try:
                for outcomes in pool.map(self._part, parts):
                    yield from outcomes
            finally:
                self.stop.set()  # whoever waits no longer does not wait for guests either
                pool.shutdown(cancel_futures=True)

    def _part(self, part: list[_Numbered]) -> list[ScriptOutcome]:
        """Return the outcomes of cases that share a guest, or another one after its failure."""
        outcomes: list[ScriptOutcome] = []
        while left := part[len(outcomes) :]:
            with scratch() as out:
                begun, error = self._in_guest(left, out)
                rows = _rows(out, left)
            outcomes += [_outcome(case, row) for (_, case), row in zip(left, rows, strict=False)]
            if len(rows) < len(left):
                if not begun:
                    raise error or TcplabError("A guest ended before its scripts.", "Try again.")
                problem = error.problem if error else _UNREADABLE
                failure = ScriptFailure(None, problem)
                outcomes.append(ScriptOutcome(left[len(rows)][1], failure, stopped=True))
        return outcomes

    def _in_guest(self, cases: list[_Numbered], out: Path) -> tuple[bool, TcplabError | None]:
        """Run cases; return whether one has begun, and what ended the guest before its time."""
        phases = {"starting"}
        rows = [
            {"name": case.name, "script": case.script.file, "arguments": case.arguments}
            | {"settings": case.settings, "capture": f"{number}.pcap" if self.captures else ""}
            for number, case in cases
        ]
        data = {"cases": rows, "seconds": VIRTUAL_SECONDS, "confined": self.confined}
        files = {name: text for _, case in cases for name, text in case.script.files().items()}
        data["files"] = sorted(files)
        files |= {PROGRAM: self.program.read_bytes(), DRIVER: self.lab.tunnel.read_bytes()}
        wall = self.wall_seconds * len(cases)
        limits = Limits(wall, _MEMORY_MIB, output_bytes=_OUTPUT_BYTES)

        def progress(phase: str, _elapsed: float) -> None:
            phases.add(phase)
            if self.stop.is_set():
                raise KeyboardInterrupt

        try:
            run_in_guest(self.lab, JOB, data, self.seed, out, progress, limits, files)
        except TcplabError as error:
            return len(phases) > 1, error
        finally:
            for number, case in cases:
                name = f"{number}.pcap"
                if self.captures and untrusted.is_file(out, name):
                    target = self.captures / f"{number}-{Path(case.script.file).stem}.pcap"
                    with untrusted.opened(out, name) as source, target.open("wb") as kept:
                        shutil.copyfileobj(source, kept)
        return len(phases) > 1, None


def _rows(out: Path, cases: list[_Numbered]) -> list[dict[str, Any]]:
    """Return the outcomes up to the first unreadable one: scripts may write into the file."""
    try:
        lines = untrusted.text(out, OUTCOMES, _MOST_OUTCOMES).splitlines()
    except (FileNotFoundError, untrusted.StrangeFile):
        return []
    rows = []
    for line, (_, case) in zip(lines, cases, strict=False):
        try:
            row = json_value(line)
        except ValueError:
            break
        is_whole = isinstance(row, dict) and row.get("name") == case.name
        if not is_whole or not isinstance(row.get("seconds"), float):
            break
        rows.append(row)
    return rows


def _outcome(case: ScriptCase, row: Mapping[str, Any]) -> ScriptOutcome:
    seconds = row["seconds"]
    if limit := row.get("limit"):
        what = "printed without end" if limit == "output" else f"did not end in {seconds:.0f} s"
        return ScriptOutcome(case, ScriptFailure(None, f"The script {what}, and was stopped."))
    status = row.get("status")
    if status == 0:
        return ScriptOutcome(case, None, seconds)
    number = status if isinstance(status, int) else 1
    failure = failure_of(str(row.get("output")), case.script.file, number)
    return ScriptOutcome(case, failure, seconds)


RUNNER = "ksft_runner.sh"
TOGETHER = 40
"""Scripts that share a guest: 0.46 s of processor each instead of 1.17 (busy machine). What failed
among others is run again by itself, and that counts: no script fails for what ran before it."""
# [ipv4]="--ip_version=ipv4 ..." of newer runners, ipv4_args=('--ip_version=ipv4 ' ...) of 6.12's
_ARGUMENTS = (re.compile(r'\[(ipv[\w-]+)\]="([^"]*)"'), re.compile(r"(ipv[46])_args=\(([^)]*)\)"))
_OWN_VERSION = re.compile(r"^--ip_version=(\S+)", re.MULTILINE)


def kernel_files(lab: Lab) -> dict[str, bytes]:
    """Return the kernel's scripts and their helpers, by name; none before 6.12."""
    with tarfile.open(lab.selftests) as archive:
        return {
            Path(member.name).name: content.read()
            for member in archive
            if (content := archive.extractfile(member))
        }


def helpers(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files that scripts call, such as defaults.sh."""
    return {name: content for name, content in files.items() if not name.endswith(SUFFIX)}


def kernel_cases(files: Mapping[str, bytes]) -> list[ScriptCase]:
    """Return every script under every IP version that its runner would take. Raises TcplabError."""
    if RUNNER not in files:
        problem = "This kernel's source holds no packetdrill scripts."
        raise TcplabError(problem, "Linux has them since 6.12.")
    variants = ip_versions(files[RUNNER].decode())
    beside, cases = helpers(files), []
    for name in sorted(files.keys() - beside.keys()):
        text = files[name].decode()
        words, own = called(text), _OWN_VERSION.search(text)
        script = Script(name, text, {other: beside[other] for other in beside if other in words})
        taken = [version for version in variants if own is None or own[1] == version]
        cases += [ScriptCase(script, version, variants[version]) for version in taken]
    return cases


def ip_versions(runner: str) -> dict[str, tuple[str, ...]]:
    """IP version to packetdrill's arguments, from the text of the kernel's runner."""
    for pattern in _ARGUMENTS:
        if found := pattern.findall(runner):
            return {
                version: tuple(word for quoted in shlex.split(text) for word in quoted.split())
                for version, text in found
            }
    problem = f"This kernel's {RUNNER} is written in another way than those of 6.12 to 7.2."
    raise TcplabError(problem, "Run the scripts by themselves: ./tcplab packetdrill FOLDER")


def cases_of(lab: Lab, names: tuple[str, ...] = ()) -> list[ScriptCase]:
    """Return the kernel's own scripts, or those whose name holds one of `names`."""
    every = kernel_cases(kernel_files(lab))
    cases = [case for case in every if any(name in case.script.name for name in names or ("",))]
    if not cases:
        raise TcplabError(f"No script has a name with {' or '.join(names)}.", "Name another.")
    return cases


def run_kernel_scripts(
    lab: Lab, program: Path, cases: Sequence[ScriptCase], workers: int | None = None
) -> Iterator[ScriptOutcome]:
    """Run scripts of `cases_of` with packetdrill's `program`; the outcomes as they are known."""
    runner = ScriptRunner(lab, program, together=TOGETHER, workers=workers)
    for outcome in runner.run(cases):
        if outcome.passed:
            yield outcome
        else:  # alone, so that it does not fail for what ran before it
            yield from replace(runner, together=1, stop=threading.Event()).run([outcome.case])
