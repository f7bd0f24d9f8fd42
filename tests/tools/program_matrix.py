"""Programs of many kinds in a network with loss: each twice, in both sandboxes, with equal packets.

    python -m tests.tools.program_matrix FOLDER [NAME...]

Prepares each program in FOLDER, or takes what was prepared there, and prints a row for each:
virtual seconds, wall seconds, the digest of packets and output, and whether these are the same the
second time, when there are pauses between the orders, and in the sandbox without namespaces. A
program that is not installed has a row that says so. Another user's digests are the same.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

from experiments.programs.links import channel
from experiments.programs.network import Network
from experiments.programs.start import NetworkOptions, started
from testbed.virtual.sandbox import Bubblewrap, Sandbox, Supervised
from topologies.shapes import two_hosts

SOURCES = Path(__file__).with_name("programs")


@dataclass(frozen=True)
class MatrixCase:
    """A server and a client: `needs` are their programs, `prepare` makes files before the boot."""

    server: str
    client: str
    needs: tuple[str, ...] = ()
    prepare: str = ""
    port: int = 7000
    user: tuple[int, int] = (0, 0)


def _cases() -> dict[str, MatrixCase]:
    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    words = {"python": sys.executable, **tables.pop("words")}

    def filled(value: Any) -> Any:
        if not isinstance(value, str):
            return tuple(value)
        return Template(value).safe_substitute(words)

    return {
        name: MatrixCase(**{field: filled(value) for field, value in table.items()})
        for name, table in tables.items()
    }


CASES = _cases()


@dataclass(frozen=True)
class MatrixRun:
    """What a case came to: digests of the captures and of the output, and times."""

    digests: tuple[str, ...]
    output: str
    virtual: float
    wall: float
    note: str


def carried_out(case: MatrixCase, project: Path, sandbox: type[Sandbox], pause: float) -> MatrixRun:
    options = NetworkOptions(project=project, sandbox=sandbox, folders=_toolchains(case))
    with tempfile.TemporaryDirectory() as place:
        out, begun = Path(place) / "out", time.monotonic()
        link = channel(delay="150ms", loss="5%")
        with started(two_hosts(link), 1, out, options) as network:
            output, note = _conversation(network, case, pause)
            virtual = network.now
        files = sorted(out.glob("*.pcap"))
        digests = tuple(hashlib.sha256(file.read_bytes()).hexdigest()[:12] for file in files)
    return MatrixRun(digests, output, virtual, time.monotonic() - begun - 2 * pause, note)


def _conversation(network: Network, case: MatrixCase, pause: float) -> tuple[str, str]:
    paths = {"PATH": f"{network.environment['PATH']}:{':'.join(map(str, _toolchains(case)))}"}
    server = network.h2.start(["sh", "-c", case.server], user=case.user, env=paths)
    if not network.h2.listens(case.port, "2min"):
        raise server.failed("does not listen")
    time.sleep(pause)
    client = network.h1.start(["sh", "-c", case.client], env=paths)
    network.sleep("100ms")
    time.sleep(pause)
    client.wait("30min").check()
    return client.stdout + client.stderr, network.unrepeatable


def _toolchains(case: MatrixCase) -> tuple[Path, ...]:
    """Return the folders of programs that are in none that every program sees."""
    found = map(_found, case.needs)
    return tuple({Path(file).resolve().parent for file in found if file})


def _found(program: str) -> str | None:
    """Return the program's path; servers may be outside of an ordinary user's PATH."""
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")


def row(name: str, case: MatrixCase, place: Path) -> Sequence[str]:
    if absent := [need for need in case.needs if not _found(need)]:
        return (name, "", "", "", f"{absent[0]} is not installed")
    try:
        project = _prepared(name, case, place)
        runs = [
            carried_out(case, project, sandbox, pause)
            for sandbox, pause in ((Bubblewrap, 0.0), (Bubblewrap, 0.5), (Supervised, 0.0))
        ]
    except Exception as error:
        return (name, "", "", "", " ".join(str(error).split())[:300])
    first = runs[0]
    same = [f"packets {_same(runs, 'digests')}", f"output {_same(runs, 'output')}"]
    notes = [*same, *dict.fromkeys(run.note for run in runs if run.note)]
    digest = hashlib.sha256(repr((first.digests, first.output)).encode()).hexdigest()[:8]
    return (name, f"{first.virtual:.3f}", f"{first.wall:.1f}", digest, ", ".join(notes))


def _prepared(name: str, case: MatrixCase, place: Path) -> Path:
    project = place / re.sub(r"\W+", "_", name)
    if not project.exists():
        shutil.copytree(SOURCES, project)
        project.chmod(0o755)
        if case.prepare:
            subprocess.run(case.prepare, cwd=project, shell=True, check=True)
    return project


def _same(runs: Sequence[MatrixRun], what: str) -> str:
    names = ("again", "supervised")
    differing = [
        name
        for name, run in zip(names, runs[1:], strict=True)
        if getattr(run, what) != getattr(runs[0], what)
    ]
    return f"differ ({', '.join(differing)})" if differing else "same"


def main(place: Path, names: Sequence[str]) -> None:
    print("| program | virtual s | wall s | digest | three runs |", flush=True)
    print("| --- | --- | --- | --- | --- |", flush=True)
    for name in names or CASES:
        print("| " + " | ".join(row(name, CASES[name], place)) + " |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
