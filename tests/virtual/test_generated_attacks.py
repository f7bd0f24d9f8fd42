"""No system call of a guest changes this computer, and only those on the table are made."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.lab.ready import Lab
from tests.virtual.generated_attacks import OPENED, SEALS, Attacked, Seal, attacked, expected

pytestmark = pytest.mark.virtual
HELD = re.compile(
    r"(shared )?(/dev/shm/#N|OUT/#N|OUT(/\S*)?|/memfd:\S*|/tmp/made|/dev/(null|shm)|/)( .deleted.)?"
    r"|/lab/\S*|\S*/lab/(attacker|init)|/proc/cpuinfo|\S*/told|\S*/work/(root|tmp)\S*"
    r"|(shared )?\S*/out(/\S*)?( .deleted.)?|(socket|pipe):.N.|anon_inode:.(eventpoll|signalfd)."
)
"""What a guest may hold: its own files and memory, sockets between its own processes."""


@pytest.fixture(scope="module")
def confine(ready_lab: Lab) -> Iterator[Path]:
    """The lab's program in a place where every user can run it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(shutil.copy(ready_lab.confine, name))


_PARAMS = [
    pytest.param(seal, marks=[pytest.mark.long] if seal.way == "ptrace" else [], id=seal.name)
    for seal in SEALS
]
"""With ptrace, for kernels without seccomp, each call takes several times as long."""


@pytest.fixture(scope="module", params=_PARAMS)
def both(request: pytest.FixtureRequest, confine: Path) -> tuple[Seal, Attacked]:
    return request.param, attacked(request.param, confine)


def test_the_filter_lets_through_what_the_table_says(both: tuple[Seal, Attacked]) -> None:
    seal, done = both
    found = set(done.table())
    assert found - expected(seal) == set(), "let through, and not on the table"
    assert expected(seal) - found == set(), "on the table, and not let through"


def test_this_computer_is_as_before(both: tuple[Seal, Attacked]) -> None:
    _, done = both
    changed = {name for name, state in done.before.items() if done.after[name] != state}
    assert {name: (done.before[name], done.after[name]) for name in changed} == {}
    assert done.left == []
    opened = zip(done.calls, done.outcomes, strict=True)
    assert [call for call, outcome in opened if outcome == OPENED] == []
    assert done.ends == []


def test_nothing_of_this_computer_is_held(both: tuple[Seal, Attacked]) -> None:
    _, done = both
    assert {kind for kind in done.held if not HELD.fullmatch(kind)} == set()


def test_the_calls_are_made(both: tuple[Seal, Attacked]) -> None:
    """A guest that cannot start would leave everything as it is."""
    _, done = both
    counts = done.counts()
    assert counts["calls"] > 100_000 and counts["done"] > 3000
