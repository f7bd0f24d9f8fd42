"""The lab kernel for tests: built once into the usual cache, then a guest for each question."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from experiments.sack import SackParameters, experiment
from experiments.spec import ExperimentSpec
from testbed.host.supervise import Limits, Usage
from testbed.lab.ready import Lab, lab
from testbed.virtual.run import run_in_guest
from topologies.data import to_data
from topologies.units import Duration
from topologies.untrusted import digest_of

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def ready_lab() -> Lab:
    return lab()


@pytest.fixture
def short_sack() -> ExperimentSpec:
    """The SACK study with transfers of 4 s: the same procedure in a fifth of the time."""
    return experiment(SackParameters(duration=Duration.parse("4s")))


@pytest.fixture
def in_guest(ready_lab: Lab, tmp_path: Path) -> Callable[..., tuple[Path, Usage]]:
    """`in_guest(data, module=..., seed=..., limits=...)` runs a job: its folder and its usage."""
    count = iter(range(100))

    def run(
        data: Any,
        module: str = "experiments.flows.procedure",
        seed: int = 7,
        limits: Limits | None = None,
    ) -> tuple[Path, Usage]:
        out = tmp_path / f"guest{next(count)}"
        out.mkdir()
        data = to_data(data)
        return out, run_in_guest(
            ready_lab, module, data, seed, out, lambda phase, elapsed: None, limits or Limits(120)
        )

    return run


RUN = """
import json, sys
from pathlib import Path
from testbed.lab.ready import Lab
from testbed.virtual.sandbox import allowed_sandbox
from testbed.virtual.run import run_in_guest
from topologies.errors import TcplabError
kernel, confine, init, image, spec, out, seccomp = sys.argv[1:]
lab = Lab(Path(kernel), Path(confine), Path(init), Path(image), "", bool(int(seccomp)), {}, {})
data = json.loads(Path(spec).read_text())
try:
    run_in_guest(lab, "experiments.flows.procedure", data, 7, Path(out), lambda *_: None)
    print(json.dumps(allowed_sandbox(lab.confine).as_data()))
except TcplabError as error:
    print(json.dumps({"error": str(error)}))
"""


@dataclass(frozen=True)
class RunElsewhere:
    """The digests of a run in another process, and its sandbox as a manifest names it."""

    digests: dict[str, str]
    sandbox: dict[str, Any]


@pytest.fixture
def elsewhere(ready_lab: Lab, short_sack: ExperimentSpec) -> Iterator[Callable[..., RunElsewhere]]:
    """`elsewhere(environment, user, cwd, before)` runs the short study by another process.

    `before` is a command that starts the process, as `owner` if it changes user. The lab is copied
    to where every user may read it: a home folder may be closed. If the run fails, `sandbox` is its
    error.
    """
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)
        files = (ready_lab.kernel, ready_lab.confine, ready_lab.init, ready_lab.image)
        copies = [shutil.copy(file, folder) for file in files]
        for copy in copies:
            Path(copy).chmod(0o755)
        (folder / "spec.json").write_text(json.dumps(to_data(short_sack)))

        def run(
            environment: dict[str, str],
            user: int,
            cwd: str = "/",
            before: Sequence[str] = (),
            owner: int | None = None,
        ) -> RunElsewhere:
            out = folder / "out"
            out.mkdir()
            os.chown(out, *((user if owner is None else owner,) * 2))
            words = [*copies, str(folder / "spec.json"), str(out), str(int(ready_lab.seccomp))]
            environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], **environment}
            done = subprocess.run(
                [*before, sys.executable, "-c", RUN, *words],
                cwd=cwd,
                env=environment,
                check=True,
                stdout=subprocess.PIPE,
                **_as(user),
            )
            said = json.loads(done.stdout)
            return RunElsewhere({} if "error" in said else digests(out), said)

        yield run


def _as(user: int) -> dict[str, Any]:
    return {"user": user, "group": user, "extra_groups": []} if user != os.geteuid() else {}


def digests(folder: Path) -> dict[str, str]:
    """SHA-256 of everything a run measured."""
    patterns = ("*.pcap", "*.jsonl", "counters.json", "qdiscs.json", "*.client.txt", "*.server.txt")
    files = [file for pattern in patterns for file in folder.glob(f"*/{pattern}")]
    assert files, f"nothing was measured in {folder}"
    return {str(file.relative_to(folder)): digest_of(file) for file in files}


def native_code() -> dict[str, str]:
    """Return what a native run needs of a checkout: modules and their data, by path."""
    return {
        str(file.relative_to(ROOT)): file.read_text()
        for package in ("testbed", "topologies")
        for file in (ROOT / package).rglob("*")
        if file.suffix in (".py", ".toml", ".txt")
    }


def read(file: Path) -> Any:
    return json.loads(file.read_text())
