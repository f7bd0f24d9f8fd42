"""`lab shell`: commands typed into hosts, recorded, packed, and repeated when graded."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from labs.commands import lab as lab_commands
from labs.definition import catalogue
from labs.definition.assignment import Assignment, Course, variant
from labs.definition.runs import TYPED
from labs.grading.case import Case
from labs.grading.comparison import repeat_typed
from labs.grading.inspection import wanted
from labs.grading.intake import HandIn
from labs.measuring.contained import Allowance
from labs.student.handout import start
from labs.student.runs import open_shell, read_sessions
from tests.labs.conftest import COURSE
from topologies.errors import UsageError

COMMANDS = """\
h1 sysctl -w net.ipv4.tcp_sack=0
h2 iperf -s &
h1 tcpdump -c 2 -n -i h1-eth0 &
h1 ping -c 3 h2
link loss=0%
h1 iperf -c h2 -t 3
h1 tc qdisc add dev h1-eth0 root netem delay 100ms
h1 ping -c 2 h2
h1 ss -tn
h1 python3 -c 'import os; print(os.urandom(8))'
h1 ls /lab /host
nonsense
"""
pytestmark = pytest.mark.virtual


@pytest.fixture
def own(tmp_path: Path) -> Assignment:
    lab = catalogue.find("sack")
    return start(lab, variant(Course(COURSE.name, COURSE.secret), lab, "ann"), tmp_path / "ann")


def graded(own: Assignment) -> Case:
    """Return the hand-in in that folder after its commands were repeated."""
    case = Case(HandIn(own.folder, "ann"), own.folder, variant=own.variant)
    return repeat_typed(case, own.lab)


def test_commands_are_recorded_and_print_the_same_when_repeated(own: Assignment) -> None:
    done = CliRunner().invoke(lab_commands, ["shell", str(own.folder)], input=COMMANDS)
    assert done.exit_code == 0, done.output
    [session] = read_sessions(own.folder)
    printed = dict(session.lines)
    assert list(printed) == COMMANDS.splitlines()
    assert "3 packets transmitted" in printed["h1 ping -c 3 h2"]
    assert "listening on h1-eth0" in "".join(printed.values())
    assert "bits/sec" in printed["h1 iperf -c h2 -t 3"]
    before, after = (printed[f"h1 ping -c {n} h2"].split(" = ")[1] for n in (3, 2))
    assert float(after.split("/")[1]) > 90 + float(before.split("/")[1])
    assert "cannot access '/host'" in printed["h1 ls /lab /host"]
    assert "no command" in printed["nonsense"]

    case = graded(own)
    assert not case.flags and "print the same" in case.notes[0]
    file = own.folder / TYPED
    file.write_text(file.read_text().replace("3 packets transmitted", "4 packets transmitted"))
    [flag] = graded(own).flags
    assert flag.kind == "typed" and "'h1 ping -c 3 h2' in sack" in flag.text


def test_a_command_without_end_is_stopped(own: Assignment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labs.grading.comparison._TYPING", Allowance(8.0, 6 << 30))
    sessions = [{"run": "sack", "lines": [["h1 sleep 1000000000", ""]]}]
    (own.folder / TYPED).write_text(json.dumps(sessions))
    [flag] = graded(own).flags
    assert "could not be repeated" in flag.text


@pytest.mark.parametrize("content", ["", "{", "[3]", '[{"run": 1, "lines": []}]', "[" * 9999])
def test_a_broken_record_is_flagged(own: Assignment, content: str) -> None:
    (own.folder / TYPED).write_text(content)
    [flag] = graded(own).flags
    assert "is no record" in flag.text


def test_a_run_that_is_not_there_is_named(own: Assignment) -> None:
    with pytest.raises(UsageError, match="no run 'other'"):
        open_shell(own, "other", ["h1 true"], print)
    assert wanted(TYPED)
