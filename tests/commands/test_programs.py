"""Programs in a network, as far as no guest is needed."""

import asyncio
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from experiments.cli.exec import execute
from experiments.programs import folders
from experiments.programs.folders import VisibleFolders, environment, folders_for
from experiments.programs.links import channel
from experiments.programs.network import Network
from experiments.programs.program import (
    RUNNER,
    Program,
    ProgramFailed,
    answered,
    asked,
    nanoseconds,
)
from testbed.virtual.guest import GuestLine, LineClosed, LineSilent, guest_line
from topologies.errors import TcplabError, UsageError
from topologies.shapes import two_hosts


class SilentNetwork:
    now_ns = 1_500_000_000
    folders = None

    def order(self, do: str, **arguments: object) -> object:
        raise AssertionError(do)


def ended(stdout: str, status: int = 0) -> Program:
    program = Program(SilentNetwork(), 0, "h1", ("prog", "a b"))
    program.hear({"stdout": stdout, "stderr": "", "status": status, "ended_at": 10**9})
    return program


def called(function: object, *given: object) -> Program:
    """The program that a host would run for a call, run here."""
    text = asked(function, given, [])  # type: ignore[arg-type]
    command = [sys.executable, "-c", RUNNER]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return ended(done.stdout)


def swap(pair: list[int]) -> tuple[int, dict[str, tuple[int, ...]]]:
    print("a line of its own")
    return pair[1], {"rest": (pair[0],)}


async def fail() -> None:
    raise TimeoutError("too late")


def stop() -> None:
    raise SystemExit("no exception of a program's")


def test_a_call_returns_tuples_lists_and_objects() -> None:
    assert answered(called(swap, [1, 2])) == (2, {"rest": (1,)})


def test_a_call_raises_the_error_of_python_with_the_trace_of_the_host() -> None:
    with pytest.raises(TimeoutError, match="too late") as caught:
        answered(called(fail))
    assert "In h1:" in caught.value.__notes__[0] and "async def fail" not in str(caught.value)
    with pytest.raises(ProgramFailed, match="SystemExit"):
        answered(called(stop))


def test_a_call_needs_a_function_with_a_name_and_data() -> None:
    with pytest.raises(UsageError, match="top level"):
        asked(lambda: 0, (), [])
    with pytest.raises(UsageError, match="not data"):
        asked(swap, (object(),), [])
    with pytest.raises(ProgramFailed, match="did not return"):
        answered(ended("killed"))


def test_a_failed_program_is_named_with_status_and_time() -> None:
    with pytest.raises(ProgramFailed, match=r"h1: prog 'a b' ended with status 3, at 1.500000 s"):
        ended("out", 3).check()


def test_a_program_that_hosts_do_not_find_is_explained(tmp_path, monkeypatch) -> None:
    (tmp_path / "mine").touch(mode=0o755)
    seen = VisibleFolders({"/usr": Path("/usr")}, (), ())
    network = SilentNetwork()
    monkeypatch.setattr(network, "folders", seen, raising=False)
    program = Program(network, 0, "h1", ("curly", "a"))
    words = {"stdout": "", "stderr": "curly: No such file or directory\n"}
    program.hear({**words, "status": 127, "ended_at": 1})
    with pytest.raises(ProgramFailed, match=r"folders of this computer: /usr. Install curly here"):
        program.check()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert f"Write its path: {tmp_path}/mine." in seen.lack("mine")
    assert "interpreter" in seen.lack(str(tmp_path / "mine"))
    assert "--tcplab-folder" in seen.lack("./nothing")
    assert ended("", 127).lack() == []


def test_times_are_text_with_a_unit_or_seconds() -> None:
    assert (nanoseconds("1.5ms"), nanoseconds(2)) == (1_500_000, 2_000_000_000)
    with pytest.raises(UsageError):
        nanoseconds("4 parsecs")


def test_programs_see_outer_folders_once_and_write_to_the_project(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    tmp_path.chmod(0o755)
    seen = folders_for(tmp_path, [inner])
    assert str(tmp_path) in seen.sources and str(inner) not in seen.sources
    assert seen.written == ("/etc", str(tmp_path))
    assert f"{sys.prefix}/bin:" in environment()["PATH"]


def test_a_folder_that_the_guest_of_root_cannot_read_is_named(tmp_path, monkeypatch) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(folders, "ordinary_user", lambda: (65534, 65534))
    with pytest.raises(UsageError, match="mode 0700"):
        folders_for(tmp_path)


def test_a_folder_of_a_tree_does_not_hide_a_project(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(folders, "ordinary_user", lambda: None)
    tree, project = tmp_path / "tree", tmp_path / "project"
    for name in ("usr", "etc", "var", "srv", tmp_path.parts[1]):
        (tree / name).mkdir(parents=True, exist_ok=True)
    project.mkdir()
    seen = folders_for(project, root=tree)
    assert seen.sources[str(project)] == project and str(project) in seen.written
    assert seen.sources["/srv"] == tree / "srv" and f"/{tmp_path.parts[1]}" not in seen.sources
    with pytest.raises(UsageError, match="next to /usr"):
        folders_for(project, [Path("/usr/share")], root=tree)


def framed(text: bytes) -> bytes:
    return len(text).to_bytes(4, "little") + text


def heard(line: GuestLine, octets: bytes) -> object:
    line.theirs.sendall(octets)
    return line.receive(0.0, lambda: None)


def test_a_line_carries_messages_whole_and_says_when_the_other_end_is_gone() -> None:
    with guest_line() as line:
        assert heard(line, framed(json.dumps({"long": "x" * 50_000}).encode())) == {
            "long": "x" * 50_000
        }
        with pytest.raises(LineSilent):
            heard(line, b"\x05")
        line.theirs.close()
        with pytest.raises(LineClosed):
            line.receive(1.0, lambda: None)
        with pytest.raises(LineClosed):
            line.send("x" * 10_000_000)


@pytest.mark.parametrize("octets", [b"\xff\xff\xff\xff", framed(b"{"), framed(b"[" * 100_000)])
def test_nonsense_of_a_guest_is_an_error(octets: bytes) -> None:
    with guest_line() as line, pytest.raises(TcplabError, match="The guest sent"):
        heard(line, octets)


@pytest.mark.parametrize("text", ["1s", "1s,later"])
def test_an_outage_has_a_beginning_and_a_length(text: str) -> None:
    with pytest.raises(UsageError):
        execute.make_context("exec", ["--down", text, "true"])


def test_computing_of_this_computer_is_not_run_twice(tmp_path: Path) -> None:
    options = ["--twice", "--cpu", "host", "--out", str(tmp_path / "out"), "true"]
    with pytest.raises(UsageError, match="no run repeats another"):
        execute.main(options, standalone_mode=False)
    assert not (tmp_path / "out").exists()


PLUGIN_TESTS = """
import pytest

@pytest.fixture
def network(tcplab_seed):
    return tcplab_seed

@pytest.mark.tcplab(seeds=3)
def test_marked(network):
    assert network != 2

def test_plain(network):
    pass
"""


FIRST_TEST = """
import sys
import pytest
from experiments.programs import start

def build(kernel):
    print("Fetching the image ...", file=sys.stderr)
    raise KeyError(kernel)

def test_first(network, monkeypatch):
    monkeypatch.setattr(start, "lab_on", build)
    with pytest.raises(KeyError):
        network.two_hosts()
"""


def run_pytest(folder: Path, *options: str, tests: str = PLUGIN_TESTS) -> str:
    (folder / "test_seeds.py").write_text(tests)
    (folder / "pytest.ini").write_text("[pytest]\n")
    plugins = ["-p", "no:cacheprovider", "-p", "no:xdist"]
    command = [sys.executable, "-m", "pytest", *plugins, "-v", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_a_test_has_the_seeds_of_its_mark_or_of_the_options(tmp_path: Path) -> None:
    marked = run_pytest(tmp_path)
    assert "test_marked[seed=3] PASSED" in marked and "test_marked[seed=2] FAILED" in marked
    assert "test_plain[seed=1] PASSED" in marked and "test_plain[seed=2]" not in marked
    assert "2 passed" in run_pytest(tmp_path, "--tcplab-seed", "7")
    assert "test_plain[seed=2] PASSED" in run_pytest(tmp_path, "--tcplab-seeds", "2")


def test_what_a_first_test_builds_is_shown(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    shown = run_pytest(tmp_path, tests=FIRST_TEST)
    assert "1 passed" in shown and "Fetching the image ..." in shown


def test_the_seed_of_the_last_failure_is_found(tmp_path: Path) -> None:
    kept = tmp_path / ".tcplab" / "test_seeds_py_test_plain_seed_9_"
    kept.mkdir(parents=True)
    (kept / "seed").write_text("9\n")
    assert "test_plain[seed=9] PASSED" in run_pytest(tmp_path, "--tcplab-seed", "last")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with pytest.raises(UsageError, match="absent is no folder"):
        folders_for(tmp_path, [tmp_path / "absent"])


async def both(network: Network, calls: list[str]) -> list[str]:
    """Await two calls; the second waits for the first, which ends when the loop goes on."""
    goes_on = threading.Event()

    def first() -> None:
        goes_on.wait(60)
        calls.append("first")

    waiting = asyncio.gather(network.awaited(first), network.awaited(calls.append, "second"))
    await asyncio.sleep(0)
    goes_on.set()
    await waiting
    return calls


def test_awaited_calls_happen_in_turn_while_the_loop_goes_on(tmp_path: Path) -> None:
    topology = two_hosts(channel())
    network = Network(None, topology, 1, tmp_path, tmp_path, {}, 1.0, "")  # type: ignore[arg-type]
    assert asyncio.run(both(network, [])) == ["first", "second"]
