"""`tcplab exec` and `tcplab shell`: other systems, graphs, typed commands."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.virtual
SERVE = f"{sys.executable} -m http.server 80"
TYPED = f"""\
h2 {SERVE} &
sleep 1s
h1 curl -sS http://h2/page
nonsense
link loss=100%
h1 curl -sS -m 3 http://h2/page
h1 kill $$
"""


def tcplab(project: Path, *words: str, typed: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "experiments.cli.main", *words]
    environment = {**os.environ, "BROWSER": "true"}
    return subprocess.run(
        command, cwd=project, input=typed, capture_output=True, text=True, env=environment
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    place = tmp_path / "project"
    place.mkdir()
    place.chmod(0o755)
    (place / "page").write_text("hello\n")
    return place


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A system that has a shell alone."""
    root = tmp_path / "tree"
    shell = Path(shutil.which("dash") or "/bin/sh").resolve()
    listed = subprocess.run(["ldd", shell], capture_output=True, text=True, check=True).stdout
    libraries = re.findall(r"/\S+(?= \(0x)", listed)
    for file in (shell, *map(Path, libraries)):
        place = root / "usr" / str(file).removeprefix("/usr").lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, place)
    (root / "usr/bin/sh").symlink_to(shell.name)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    (root / "etc").mkdir()
    (root / "etc/os-release").write_text("NAME=tree\n")
    for folder in (root, *(each for each in root.rglob("*") if each.is_dir())):
        folder.chmod(0o755)
    return root


def test_programs_of_another_system_run_in_its_tree(ready_lab, project, tree, tmp_path) -> None:
    command = ["sh", "-c", "read word </etc/os-release; echo $word; echo >/usr/new; pwd"]
    done = tcplab(project, "exec", "--root", str(tree), "--", *command)
    assert (done.returncode, done.stdout) == (0, f"NAME=tree\n{project}\n"), done.stderr
    assert not (tree / "usr/new").exists()
    wrong = tcplab(project, "exec", "--root", str(tmp_path), "--", *command)
    assert wrong.returncode == 2 and "no system" in wrong.stderr


@pytest.mark.needs("curl")
def test_exec_opens_a_page_with_the_captures(ready_lab, project: Path) -> None:
    words = ["exec", "--open", "--server", SERVE, "--", "curl", "-sS", "http://h2/page"]
    done = tcplab(project, *words)
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    assert "h1-eth0" in (project / ".tcplab/exec/graphs.html").read_text()


@pytest.mark.needs("curl")
def test_commands_are_typed_into_hosts(ready_lab, project: Path) -> None:
    done = tcplab(project, "shell", "--delay", "20ms", typed=TYPED)
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    assert "hello" in printed and "status 28" in printed and "status 143" in printed
    assert "'nonsense' is no command. Type help." in printed


def test_a_program_that_hosts_do_not_see_is_named_with_its_folder(
    ready_lab, project: Path, tmp_path: Path
) -> None:
    file = tmp_path / "elsewhere/bin/tool"
    file.parent.mkdir(parents=True)
    file.write_text("#!/bin/sh\necho hello\n")
    for place in (file, file.parent, file.parent.parent):
        place.chmod(0o755)
    done = tcplab(project, "exec", "--", str(file))
    assert done.returncode == 2 and f"do not see {file}. Name {tmp_path}/elsewhere" in done.stderr
    seen = tcplab(project, "exec", "--folder", f"{tmp_path}/elsewhere", "--", str(file))
    assert (seen.returncode, seen.stdout) == (0, "hello\n"), seen.stderr
    linked = tmp_path / "environment/bin/tool"
    linked.parent.mkdir(parents=True)
    linked.symlink_to(file)
    both = tcplab(project, "exec", "--server", str(linked), "--", "true")
    assert f"Name {tmp_path}/environment and {tmp_path}/elsewhere: by --folder" in both.stderr


LISTENS = "import socket, time; a = socket.create_server(('', 4000)); time.sleep(1);"
LATER = f"{LISTENS} b = socket.create_server(('', 80)); time.sleep(9)"


@pytest.mark.needs("curl")
def test_exec_waits_for_the_named_port_and_not_for_any(ready_lab, project: Path) -> None:
    probe = "import socket; socket.create_connection(('h2', 80)); print('open')"
    command = [sys.executable, "-c", probe]
    server = f'{sys.executable} -c "{LATER}"'
    done = tcplab(project, "exec", "--port", "80", "--server", server, "--", *command)
    assert (done.returncode, done.stdout) == (0, "open\n"), done.stderr
    closed = tcplab(project, "exec", "--port", "81", "--server", server, "--", *command)
    assert closed.returncode and "does not listen on port 81" in closed.stderr


def test_exec_knows_the_image_s_programs_and_captures_the_loopback(ready_lab, project) -> None:
    command = ["sh", "-c", "/run/lab/bin/ping -c 2 -i 0.1 localhost"]
    words = ["exec", "--twice", "--loopback", "--delay", "5ms", "--", *command]
    done = tcplab(project, *words)
    assert "2 received" in done.stdout, done.stderr
    assert "the second run is equal: captures" in done.stderr
    assert len(tcplab_read(project / ".tcplab/exec/h1-lo.pcap")) == 4
    silent = tcplab(project, "exec", "--twice", "--", "true")
    assert "no packet was sent" in silent.stderr


def test_exec_states_whose_program_it_ran(ready_lab, project: Path) -> None:
    done = tcplab(project, "exec", "--", "iperf", "--version")
    assert re.search(r"iperf is (the lab image's|this computer's)", done.stderr), done.stderr


def test_a_private_folder_of_root_is_seen(ready_lab, project: Path) -> None:
    project.chmod(0o700)
    done = tcplab(project, "exec", "--", "cat", "page")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr


def tcplab_read(file: Path) -> list[int]:
    """Return the lengths of the packets of a capture."""
    content, at, lengths = file.read_bytes(), 24, []
    while at < len(content):
        lengths.append(int.from_bytes(content[at + 8 : at + 12], "little"))
        at += 16 + lengths[-1]
    return lengths
