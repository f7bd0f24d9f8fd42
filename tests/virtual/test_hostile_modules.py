"""What a hostile module tries against this computer ends with its guest, or is refused."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from testbed.guest.kernel_modules import KernelModule
from testbed.host.supervise import CONSOLE, Limits
from testbed.lab.ready import Lab
from testbed.modules import BuiltModule, attached, built
from testbed.virtual.run import run_in_guest
from testbed.virtual.sandbox import Sandbox, Supervised
from tests.virtual.hostile_modules import ATTACKS, source
from topologies.errors import TcplabError
from topologies.untrusted import entries, tail

pytestmark = pytest.mark.virtual
CANARY = "the canary that nobody may see"
LIMITS = Limits(wall_seconds=300, output_bytes=500 << 20)
SPINNING = replace(LIMITS, wall_seconds=10)
REACHING = {
    "a file that others may write to",
    "a program with its user's rights",
    "memory that is a device",
    "memory in a file of /dev/shm",
    "the computer's terminals",
    "the folder of who called",
    "what lies above",
    "a signal to everybody",
    "a signal to its group",
}
"""What namespaces keep in, and a supervisor must."""


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The guest's folder; the process that runs the guest is in a folder with a canary."""
    (tmp_path / "canary").write_text(CANARY)
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def hostile(ready_lab: Lab) -> BuiltModule:
    return built(KernelModule("attack", source(ATTACKS)), ready_lab)


def run(
    number: int, module: BuiltModule, lab: Lab, out: Path, sandbox: type[Sandbox] | None
) -> str:
    """Load the module in a guest; the error that ended the run, empty if it ended well."""
    data = {"job": "attack", "which": number}
    limits = SPINNING if "limit" in ATTACKS[number].message else LIMITS
    try:
        run_in_guest(
            lab,
            "tests.virtual.jobs",
            data,
            1,
            out,
            lambda phase, elapsed: None,
            limits,
            attached([module]),
            sandbox=sandbox,
        )
    except TcplabError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("number", range(len(ATTACKS)), ids=lambda number: ATTACKS[number].name)
def test_an_attack_ends_with_its_guest(number, hostile, ready_lab, out) -> None:
    require_end(number, hostile, ready_lab, out)


@pytest.mark.parametrize("number", range(len(ATTACKS)), ids=lambda number: ATTACKS[number].name)
def test_an_attack_ends_without_namespaces_too(number, hostile, ready_lab, out, request) -> None:
    if ATTACKS[number].name not in REACHING and not request.config.getoption("--sandboxes"):
        pytest.skip("--sandboxes tries every attack against the supervisor")
    require_end(number, hostile, ready_lab, out, Supervised)


def require_end(
    number: int,
    hostile: BuiltModule,
    ready_lab: Lab,
    out: Path,
    sandbox: type[Sandbox] | None = None,
) -> None:
    """The guest ends as the attack says, and nothing came out of it."""
    attack = ATTACKS[number]
    error = run(number, hostile, ready_lab, out, sandbox)
    assert (attack.message in error) if attack.message else not error, error
    if attack.refused:
        results = re.findall(r"attack (-?\d+)", tail(out, CONSOLE, 1 << 20))
        assert len(results) == 1 and re.fullmatch(attack.refused, results[0]), results
    assert CANARY not in error and len(error) < 20_000
    for path, status in entries(out, 10, 100_000):
        assert path.is_file() or path.is_dir()
        assert not path.is_symlink() and status.st_mode & 0o7022 == 0
        assert CANARY not in (tail(out, path.relative_to(out), 4096) if path.is_file() else "")
