"""What happens before the start line has no influence: shape of the code, its order, its memory.

Each test runs a copy of the code that is changed in a way which used to move packets.
"""

import hashlib
import random
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from testbed.host import CODE, PACKAGES
from testbed.lab.kernel import DEFAULT, all_series
from testbed.lab.kernel.choice import chosen
from testbed.lab.ready import lab_if_ready

pytestmark = pytest.mark.virtual

_TOPOLOGY = "topologies/spec.py"
_PROCEDURE, _TRANSFERS = "experiments/flows/procedure.py", "experiments/flows/transfers.py"
_DRIVEN = "testbed/guest/driven.py"
_MEASURED = ("*.pcap", "*.sockets.jsonl", "*.client.txt", "*.server.txt", "qdiscs.json")
_WORK = """
import os as _os, socket as _socket, subprocess as _subprocess, time as _time
for _ in range(3000): _time.monotonic()
_os.urandom({draws}); _subprocess.run(["true"]); _time.sleep({seconds})
with _socket.create_server(("127.0.0.1", 0)) as _server:
    for _ in range(7): _socket.create_connection(_server.getsockname()).close()
"""


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def _base(code: Path) -> None:
    """The code as it is."""


def _one_module_more(code: Path) -> None:
    (code / "topologies/spare.py").write_text("X = 1\n")
    with (code / _TOPOLOGY).open("a") as file:
        file.write("\n\nfrom topologies import spare\n")


def _twenty_modules_more(code: Path) -> None:
    with (code / _TOPOLOGY).open("a") as file:
        for number in range(20):
            text = "X = [str(n) for n in range(500)]\n"
            (code / f"topologies/spare{number}.py").write_text(text)
            file.write(f"\n\nfrom topologies import spare{number}\n")


def _renamed_and_merged(code: Path) -> None:
    """nodes.py gets another name, and namespaces.py a place in programs.py."""
    guest = code / "testbed/guest"
    (guest / "nodes.py").rename(guest / "a_cabling.py")
    moved = (guest / "namespaces.py").read_text().replace("from __future__ import annotations", "")
    (guest / "namespaces.py").unlink()
    with (guest / "programs.py").open("a") as file:
        file.write(moved)
    for file in code.rglob("*.py"):
        text = file.read_text()
        fresh = text.replace("testbed.guest.namespaces", "testbed.guest.programs")
        fresh = re.sub(r"(from testbed\.guest import .*)\bnodes\b", r"\1a_cabling as nodes", fresh)
        if fresh != text:
            file.write_text(fresh)


def _random_work(code: Path, number: int) -> None:
    """Clock reads, draws, a process, a sleep and connections before the lines."""
    draw = random.Random(number)
    places = {_PROCEDURE: "for number, order in enumerate", _DRIVEN: "job.start_links()"}
    for file, line in places.items():
        work = _WORK.format(draws=draw.randrange(1, 999), seconds=draw.uniform(0.0, 3.0))
        indent = " " * 8
        _replace(code / file, f"{indent}{line}", _indented(work, indent) + f"{indent}{line}")


def _work(code: Path) -> None:
    _random_work(code, 1)


def _other_work(code: Path) -> None:
    _random_work(code, 2)


def _late_work(code: Path) -> None:
    """The same between the lines."""
    work = _WORK.format(draws=333, seconds=0.0)
    line = " " * 8 + "job.start_flows()"
    _replace(code / _TRANSFERS, line, _indented(work, " " * 8) + line)


def _later_switches(code: Path) -> None:
    _replace(
        code / "testbed/guest/job_entry.py",
        "start_open_vswitch()\n            importlib",
        "time.sleep(11.0337); start_open_vswitch()\n            importlib",
    )


def _indented(text: str, indent: str) -> str:
    return "".join(f"{indent}{line}\n" for line in text.strip().splitlines())


def _everything(code: Path) -> None:
    _twenty_modules_more(code)
    _renamed_and_merged(code)
    _other_work(code)
    _later_switches(code)


VARIANTS = (
    _one_module_more,
    _twenty_modules_more,
    _renamed_and_merged,
    _work,
    _other_work,
    _late_work,
    _later_switches,
)
COMMANDS = (
    "run l4s_coexistence --repeat 1 --seed 2",
    "run incast --repeat 1 --senders 50",
    "run home_uplink --repeat 1",
    "exec --delay 10ms --loss 2% --server 'python3 -m http.server 80' -- "
    "python3 -c 'import urllib.request; print(urllib.request.urlopen(\"http://h2/\").status)'",
)
SACK = "run sack --repeat 1"


def packets(folder: Path, change: Callable[[Path], None], words: str) -> str:
    """Run a command of the changed code in a new folder; return a digest of what it measured."""
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CODE / package, folder / package, ignore=ignored)
    change(folder)
    command = [sys.executable, "-m", "experiments.cli.main", *shlex.split(words)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    files = [file for name in _MEASURED for file in folder.rglob(name) if file.is_file()]
    assert files
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}".encode())
    return digest.hexdigest()


@pytest.fixture(scope="module")
def sack(tmp_path_factory: pytest.TempPathFactory) -> str:
    return packets(tmp_path_factory.mktemp("base") / "code", _base, SACK)


@pytest.mark.parametrize("change", VARIANTS)
def test_the_shape_of_code_moves_no_packet(tmp_path: Path, sack: str, change) -> None:
    assert packets(tmp_path / "code", change, SACK) == sack


@pytest.mark.parametrize("command", COMMANDS)
def test_nor_does_it_in_other_studies(tmp_path: Path, command: str) -> None:
    as_it_is = packets(tmp_path / "base", _base, command)
    assert packets(tmp_path / "other", _everything, command) == as_it_is


@pytest.mark.parametrize("kernel", [series for series in all_series() if series != DEFAULT])
def test_nor_does_it_in_older_kernels(tmp_path: Path, kernel: str) -> None:
    if not lab_if_ready(chosen(kernel)):
        pytest.skip(f"Linux {kernel} is not built: ./tcplab kernel build {kernel}")
    command = f"{SACK} --kernel {kernel}"
    as_it_is = packets(tmp_path / "base", _base, command)
    assert packets(tmp_path / "other", _everything, command) == as_it_is
