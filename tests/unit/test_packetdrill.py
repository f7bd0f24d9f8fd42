"""packetdrill's words as data, scripts as they are found, and the kernel's own as cases."""

import json
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from click.testing import CliRunner

from experiments.cli.commands import tcplab
from experiments.cli.kernel import described, follow
from testbed import packetdrill as script_runs
from testbed.builds import BuildReport, Workshop
from testbed.guest.packetdrill import OUTCOMES
from testbed.lab import packetdrill as recipe
from testbed.lab.tools import sealed
from testbed.packetdrill import (
    ScriptCase,
    ScriptOutcome,
    ScriptRunner,
    helpers,
    ip_versions,
    kernel_cases,
)
from testbed.packetdrill.scripts import LONGEST, Script, ScriptFailure, failure_of, scripts_in
from topologies.errors import TcplabError, UsageError

RECORDED = Path(__file__).parent / "packetdrill_output"
"""What packetdrill printed in the lab kernel about changed copies of docs/packetdrill's script."""
FAILURES = tomllib.loads((RECORDED / "failures.toml").read_text())


@pytest.mark.parametrize("name", FAILURES)
def test_what_packetdrill_prints_becomes_data(name: str) -> None:
    output = (RECORDED / f"{name}.txt").read_text()
    assert failure_of(output, "fast_retransmit.pkt", 1) == ScriptFailure(
        **{"line": None} | FAILURES[name]
    )


def test_a_message_that_is_not_known_is_shown_as_it_is() -> None:
    assert failure_of("tun: no such\n\ndevice\n", "a.pkt", 1).what == "tun: no such\ndevice"
    assert failure_of("", "a.pkt", 1).what == "no output"
    assert failure_of("", "a.pkt", -11).what.startswith("packetdrill was ended by SIGSEGV")


def test_a_warning_is_no_failure_and_another_file_is_not_the_script() -> None:
    output = (
        "a.pkt:3: warning handling packet: late\nb.pkt:4: no\n/tmp/x/a.pkt:5: semantic error: x"
    )
    assert failure_of(output, "a.pkt", 1).line == 5


def test_a_script_cannot_move_the_cursor() -> None:
    assert "\033" not in failure_of("\033[2Jgone", "a.pkt", 1).what


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)


def test_a_folder_is_its_scripts_by_name_each_with_what_it_calls(tmp_path: Path) -> None:
    write(tmp_path, b_pkt="`./own.sh`", a_pkt="`./defaults.sh`", own_sh="true", notes_txt="no")
    given = {"defaults.sh": b"kernel's", "own.sh": b"kernel's"}
    first, second = scripts_in((tmp_path,), given)
    assert [Path(script.name).name for script in (first, second)] == ["a.pkt", "b.pkt"]
    assert first.beside == {"defaults.sh": b"kernel's"}
    assert second.files() == {"own.sh": b"true", "b.pkt": b"`./own.sh`"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "There is no file"),
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"\x7fELF\0\0", "not text"),
        (b"\xff\xfe", "not text"),
        (b"x" * (LONGEST + 1), "too long"),
    ],
)
def test_what_is_no_script_is_refused_in_a_sentence(tmp_path, content, message) -> None:
    if content is not None:
        (tmp_path / "a.pkt").write_bytes(content)
    with pytest.raises(UsageError, match=message):
        scripts_in((tmp_path / "a.pkt",), {})


def test_a_folder_without_scripts_and_a_device_are_refused(tmp_path: Path) -> None:
    for place, message in ((tmp_path, "holds no script"), (Path("/dev/zero"), "no regular file")):
        with pytest.raises(UsageError, match=message):
            scripts_in((place,), {})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "No script is named"),
        (["--define", "4=5", "a.pkt"], "has no NAME=VALUE"),
        (["--define", "X", "a.pkt"], "has no NAME=VALUE"),
        (["--pcap", __file__, "a.pkt"], "no empty folder"),
    ],
)
def test_a_bad_request_is_refused_before_anything_starts(arguments, message) -> None:
    done = CliRunner().invoke(tcplab, ["packetdrill", *arguments])
    assert done.exit_code == 2 and message in done.output


RUNNER = b"""
declare -A ip_args=(
	[ipv4]="--ip_version=ipv4
		-D A=1"
	[ipv6]="--ip_version=ipv6
		--mtu=1520"
)
"""
OLD_RUNNER = """
readonly ipv4_args=('--ip_version=ipv4 '
'-D A=1 ')
readonly ipv6_args=('--ip_version=ipv6 ' '--mtu=1520 ')
"""


def test_the_kernels_scripts_run_under_each_ip_version_that_they_allow() -> None:
    files = {
        "ksft_runner.sh": RUNNER,
        "both.pkt": b"`./defaults.sh`",
        "four.pkt": b"--ip_version=ipv4\n",
        "defaults.sh": b"",
    }
    cases = kernel_cases(files)
    assert [case.name for case in cases] == ["both.pkt ipv4", "both.pkt ipv6", "four.pkt ipv4"]
    assert cases[0].arguments == ("--ip_version=ipv4", "-D", "A=1")
    assert cases[0].script.beside == {"defaults.sh": b""}
    assert "both.pkt" not in helpers(files)


def test_both_ways_in_which_kernels_write_their_runner_are_read() -> None:
    assert ip_versions(OLD_RUNNER) == ip_versions(RUNNER.decode())
    with pytest.raises(TcplabError, match="written in another way"):
        ip_versions("exit 1")
    with pytest.raises(TcplabError, match=r"since 6\.12"):
        kernel_cases({})


def test_a_failure_is_shown_with_the_scripts_line(capsys: pytest.CaptureFixture[str]) -> None:
    case = ScriptCase(Script("dir/a.pkt", "first\n  +0 > . 1:2(1)\n", {}), "ipv6")
    failed = ScriptOutcome(case, ScriptFailure(2, "it came late", "at 1", "at 2"), 0.5)
    assert described(failed).splitlines() == [
        "FAILED  dir/a.pkt ipv6, line 2: it came late",
        "          script:   +0 > . 1:2(1)",
        "          expected: at 1",
        "          came:     at 2",
    ]
    assert follow([failed, ScriptOutcome(case, None)], 2, "9.9", as_json=False) == 1
    assert "\n1 failed, 1 passed, on Linux 9.9" in capsys.readouterr().out
    assert failed.as_data()["text"] == "+0 > . 1:2(1)"


def test_the_source_is_pinned_by_commit_and_digest() -> None:
    pinned = recipe.pinned_commit()
    assert len(pinned["commit"]) == 40 and len(pinned["sha256"]) == 64


def test_a_source_that_cannot_be_had_is_said_in_a_sentence(tmp_path, monkeypatch) -> None:
    (tmp_path / "work").mkdir()
    workshop = sealed(Workshop(tmp_path / "work", tmp_path / "log", BuildReport()))
    (tmp_path / "some.tar").write_text("no archive")
    said = {"none": "neither a clone nor a tarball", "some.tar": "does not give packetdrill"}
    for named, message in said.items():
        monkeypatch.setenv(recipe.NAMED_SOURCE, str(tmp_path / named))
        with pytest.raises(TcplabError, match=message):
            recipe._obtain(workshop)


def test_a_clone_gives_the_pinned_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    folder = tmp_path / "clone/gtests/net/packetdrill"
    folder.mkdir(parents=True)
    git = ["git", "-C", str(tmp_path / "clone"), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run([*git, "init", "-q"], check=True)
    for content in ("pinned", "later"):
        (folder / "code.c").write_text(content)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "-q", "-m", content], check=True)
    monkeypatch.setattr(
        recipe, "pinned_commit", lambda: {"url": "", "commit": "HEAD~1", "sha256": ""}
    )
    monkeypatch.setenv(recipe.NAMED_SOURCE, str(tmp_path / "clone"))
    recipe._obtain(sealed(Workshop(tmp_path / "work", tmp_path / "log", BuildReport())))
    assert (tmp_path / "work/source/code.c").read_text() == "pinned"


def test_the_same_files_have_the_same_digest_wherever_they_are(tmp_path: Path) -> None:
    for folder, names in (("one", "ab"), ("other", "ba")):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).write_text(f"text of {name}")
    (tmp_path / "other" / "link").symlink_to("a")
    assert recipe.digest_of_folder(tmp_path / "one") == recipe.digest_of_folder(tmp_path / "other")
    (tmp_path / "one" / "c").touch()
    assert recipe.digest_of_folder(tmp_path / "one") != recipe.digest_of_folder(tmp_path / "other")


@pytest.mark.parametrize(
    "garbage",
    [
        "",
        "[",
        "[" * 100_000,
        "1",
        "1" * 6000,
        '{"name": "bad.pkt", "status": 0}',
        '{"name": "good.pkt", "status": 0, "seconds": 1.0}',
        '{"name": "bad.pkt", "status": 0, "seconds": "long"}',
    ],
)
def test_garbage_in_a_guests_outcomes_is_that_scripts_outcome(
    garbage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def guest(_lab: object, _job: str, data: Any, _seed: int, out: Path, *rest: Any) -> None:
        name = data["cases"][0]["name"]
        rest[0](name, 1.0)
        row = json.dumps({"name": name, "status": 0, "seconds": 1.0})
        (out / OUTCOMES).write_text(garbage if name == "bad.pkt" else row)

    monkeypatch.setattr(script_runs, "run_in_guest", guest)
    (tmp_path / "file").touch()
    runner = ScriptRunner(cast(Any, SimpleNamespace(tunnel=tmp_path / "file")), tmp_path / "file")
    names = ("good.pkt", "bad.pkt", "good.pkt")
    outcomes = list(runner.run([ScriptCase(Script(name, "", {})) for name in names]))
    assert [outcome.passed for outcome in outcomes] == [True, False, True]
    assert [outcome.stopped for outcome in outcomes] == [False, True, False]
