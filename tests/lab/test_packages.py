"""Which packages a command of ./tcplab needs, depending on the cache and the user."""

import io
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from testbed.host import packages
from testbed.lab import environment
from topologies.errors import TcplabError

ROOT = Path(__file__).parents[2]


@pytest.fixture
def nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """No tool is installed."""
    monkeypatch.setattr(packages, "present", lambda tool: False)
    monkeypatch.delenv(packages.YES, raising=False)


def test_native_needs_mininet(nothing_here: None, capsys: pytest.CaptureFixture[str]) -> None:
    packages.main("native")
    assert {"mininet", "openvswitch-switch"} <= {*capsys.readouterr().out.split()}


APT_GET = """\
#!/bin/sh
echo "$*" >>calls
[ -f freed ] && exit
touch freed
echo 'E: Could not get lock /var/lib/apt/lists/lock.' >&2
exit 100
"""


def test_provision_updates_absent_lists_first_and_waits_for_another_apt(tmp_path: Path) -> None:
    scripts = {"id": "echo 0", "sleep": "true", "apt-cache": "exit 100"}
    texts = {name: f"#!/bin/sh\n{text}\n" for name, text in scripts.items()}
    for name, text in {**texts, "apt-get": APT_GET}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    command = ["sh", str(ROOT / "provision.sh"), "packages", "hello"]
    subprocess.run(command, cwd=tmp_path, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    update, again, install = (tmp_path / "calls").read_text().splitlines()
    assert update == again == "-o DPkg::Lock::Timeout=600 update"
    assert install.endswith("install --yes --no-install-recommends hello")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, nothing_here: None) -> list[list[str]]:
    """Commands that would run as root; the terminal answers nothing yet."""
    commands: list[list[str]] = []

    def run(command: list[str], **_options: object) -> subprocess.CompletedProcess[bytes]:
        commands.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(packages.subprocess, "run", run)
    monkeypatch.setattr("shutil.which", lambda tool, path=None: f"/usr/bin/{tool}")
    monkeypatch.setattr("os.geteuid", lambda: 0)
    return commands


INSTALLED = ["sh", str(ROOT / "provision.sh"), "packages", "flex"]


def test_without_a_terminal_nothing_is_installed(asked: list[list[str]]) -> None:
    with pytest.raises(TcplabError, match=r"Missing here: flex.*apt-get install.*flex.*--yes"):
        packages.install_missing(["flex"])
    assert not asked


def test_tests_go_on_without_the_packages_that_some_of_them_need(asked, capsys) -> None:
    packages.main("test")
    assert not asked
    said = capsys.readouterr().err
    assert "tests that need tcptrace, gcc" in said and "are skipped" in said
    assert "apt-get install" in said and "flex" in said


@pytest.mark.parametrize(("answer", "installs"), [("y", True), ("n", False), ("", False)])
def test_a_terminal_is_asked(asked, monkeypatch, answer, installs) -> None:
    for stream, text in (("sys.stdin", f"{answer}\n"), ("sys.stderr", "")):
        terminal = io.StringIO(text)
        monkeypatch.setattr(terminal, "isatty", lambda: True)
        monkeypatch.setattr(stream, terminal)
    with nullcontext() if installs else pytest.raises(TcplabError):
        packages.install_missing(["flex"])
    assert asked == ([INSTALLED] if installs else [])


def test_with_yes_packages_are_installed_by_root_or_sudo(asked, monkeypatch) -> None:
    monkeypatch.setenv(packages.YES, "1")
    packages.install_missing(["flex"])
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    packages.install_missing(["flex"])
    assert asked == [INSTALLED, ["sudo", *INSTALLED]]


def test_elsewhere_than_on_debian_the_names_are_said(asked: list[list[str]], monkeypatch) -> None:
    monkeypatch.setenv(packages.YES, "1")
    monkeypatch.setattr("shutil.which", lambda tool, path=None: None)
    with pytest.raises(TcplabError, match=r"In Debian these packages have them: flex"):
        packages.install_missing(["flex"])
    assert not asked


def test_programs_and_files_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sh").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert packages.present(str(tmp_path / "sh"))
    assert not packages.present("/no/such/file")
    assert packages.present("sh")
    assert not packages.present("no-such-program")


def test_the_users_own_path_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own-program").touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not packages.present("own-program")


def test_the_launcher_can_ask_without_any_installed_library() -> None:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from testbed.host.packages import main"
    command = [sys.executable, "-I", "-S", "-B", "-c", f"{code}; main('native')"]
    subprocess.run(command, check=True)


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("run sack", True),
        ("test tests/unit", True),
        ("run sack --help", False),
        ("run --list", False),
        ("run sack --testbed native", False),
        ("lab list", False),
        ("", False),
    ],
)
def test_only_a_command_that_needs_the_lab_installs_its_tools_first(words, wanted) -> None:
    assert environment.needs_lab(words.split()) == wanted
