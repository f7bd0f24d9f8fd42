"""`tcplab shell` at a terminal: commands, Ctrl-C, Ctrl-D, Ctrl-], and nothing is left of it."""

import os
import pty
import re
import signal
import sys
import termios
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from testbed.host.processes import is_ready

pytestmark = pytest.mark.virtual
ROOT = Path(__file__).resolve().parents[2]
PROMPT = "mininet> "
_PATIENCE = 240.0  # seconds; the guest lives in real time, whatever else the machine does


class Terminal:
    """The far end of a program's terminal."""

    def __init__(self, pid: int, descriptor: int) -> None:
        self.pid, self.descriptor, self.text = pid, descriptor, ""

    def type(self, keys: str) -> None:
        os.write(self.descriptor, keys.encode())

    def expect(self, pattern: str) -> str:
        """What was printed up to the pattern, which goes with it."""
        deadline = time.monotonic() + _PATIENCE
        while not (match := re.search(pattern, self.text)):
            assert time.monotonic() < deadline, f"no {pattern!r} in {self.text!r}"
            self._read()
        text, self.text = self.text[: match.end()], self.text[match.end() :]
        return text

    def status(self) -> int:
        """The exit status, with everything printed read."""
        deadline = time.monotonic() + _PATIENCE
        while (ended := os.waitpid(self.pid, os.WNOHANG)) == (0, 0):
            assert time.monotonic() < deadline, self.text
            self._read()
        return os.waitstatus_to_exitcode(ended[1])

    def _read(self) -> None:
        if is_ready(self.descriptor, 0.2):
            try:
                self.text += os.read(self.descriptor, 4096).decode(errors="replace")
            except OSError:  # EIO: the other end is closed
                time.sleep(0.05)


@contextmanager
def typing(*arguments: str) -> Iterator[Terminal]:
    pid, descriptor = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execv(sys.executable, [sys.executable, "-m", "experiments.cli.main", *arguments])
    try:
        yield Terminal(pid, descriptor)
    finally:
        os.close(descriptor)
        try:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass


def test_commands_are_typed_into_hosts_and_keys_do_what_they_should(ready_lab) -> None:
    with typing(
        "shell", "two_hosts", "--bw", "10mbit", "--delay", "20ms", "--testbed", "virtual"
    ) as terminal:
        before = termios.tcgetattr(terminal.descriptor)
        assert "h1 ping -c 3 h2" in terminal.expect(PROMPT)
        terminal.type("h1 ping -c 3 -i 0.3 h2\r")
        (least,) = re.findall(r"= ([\d.]+)/", terminal.expect(r"rtt min.*"))
        assert 40 <= float(least) < 60, "the round trip of two times 20 ms, in real time"
        terminal.type("h2 ping h1\r")
        terminal.expect("icmp_seq=2 ")
        terminal.type("\x03")
        terminal.expect(f"packet loss(.|\n)*{PROMPT}")
        terminal.type("pingall\r")
        terminal.expect("0% dropped")
        terminal.type("\x03")
        terminal.expect(f"Interrupt(.|\n)*{PROMPT}")
        terminal.type("s1 tc qdisc show dev s1-eth2\r")
        # With the prompt: before it, Ctrl-D would go to the shell of the switch and end that.
        assert "rate 10Mbit" in terminal.expect(f"pfifo 3:(.|\n)*{PROMPT}")
        terminal.type("\x04")
        assert terminal.status() == 0, terminal.text
        assert termios.tcgetattr(terminal.descriptor) == before


@pytest.mark.long
def test_ctrl_bracket_ends_it_whatever_runs_and_ctrl_c_while_it_starts(ready_lab) -> None:
    with typing("shell", "star", "--testbed", "virtual") as terminal:
        terminal.expect("starting .*")
        terminal.type("\x03")
        assert terminal.status() == 130
    with typing("shell", "star", "--testbed", "virtual") as terminal:
        terminal.expect(PROMPT)
        terminal.type("sh sleep 1000\r")
        terminal.expect("sleep 1000")
        terminal.type("\x1d")
        assert terminal.status() == 0


@pytest.mark.long
def test_mininets_walkthrough_and_commands_do_what_they_should(ready_lab) -> None:
    walkthrough = tomllib.loads(Path(__file__).with_name("walkthrough.toml").read_text())
    with typing("shell", "two_hosts", "--testbed", "virtual") as terminal:
        terminal.expect(PROMPT)
        for line, printed in walkthrough.items():
            terminal.type(f"{line}\r")
            text = terminal.expect(f"\n{PROMPT}")  # the text of `help` has it too
            assert re.search(printed, text.partition("\n")[2]), f"{line}: {text}"
            assert "run's folder" not in text
        terminal.type("exit\r")
        assert terminal.status() == 0, terminal.text


@pytest.mark.long
def test_commands_keep_links_addresses_and_ways_of_other_topologies(ready_lab) -> None:
    with typing("shell", "dumbbell", "--testbed", "virtual") as terminal:
        terminal.expect(PROMPT)
        for line in ("switch s1 stop", "switch s1 start", "s1 tc qdisc show", "pingall"):
            terminal.type(f"{line}\r")
            text = terminal.expect(PROMPT)
        assert "0% dropped" in text
    with typing("shell", "star", "--testbed", "virtual") as terminal:
        terminal.expect(PROMPT)
        for line in ("link center left down", "link center left up", "pingall"):
            terminal.type(f"{line}\r")
            text = terminal.expect(PROMPT)
        assert "0% dropped" in text, "routes and neighbours are back"


def test_without_a_terminal_it_says_so() -> None:
    from click.testing import CliRunner

    from experiments.cli.commands import tcplab

    done = CliRunner().invoke(tcplab, ["shell", "two_hosts", "--testbed", "virtual"])
    assert done.exit_code == 2 and "needs a terminal" in done.output
