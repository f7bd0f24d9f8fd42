"""The recipes' own files and their decisions, without building anything."""

import hashlib
import io
import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed import builds
from testbed.builds import BuildReport, LineReport, Workshop, cache, debian
from testbed.guest.programs import run
from testbed.host import packages
from testbed.lab import image, tools
from testbed.lab.kernel import PATCHES, all_series, as_numbers, kernel_version, recipe
from testbed.lab.kernel import source as kernel_source
from testbed.lab.kernel.choice import LAB_KERNEL, OwnTarball
from testbed.lab.kernel.recipe import KernelBuild
from topologies.errors import CommandError, TcplabError
from topologies.untrusted import digest_of


@pytest.fixture
def workshop(tmp_path: Path, report: Any) -> Workshop:
    (tmp_path / "work").mkdir()
    return tools.sealed(Workshop(tmp_path / "work", tmp_path / "log", report))


@pytest.mark.parametrize("series", all_series())
def test_sources_are_pinned(series: str) -> None:
    version = kernel_version(series)
    assert version.version.startswith(f"{series}.")
    assert as_numbers(version.since) <= as_numbers(version.version)
    assert version.version in version.url
    assert not version.package or len(version.sha256) == 64
    assert version.steps > 100


@pytest.mark.parametrize("series", all_series())
def test_patches_and_configuration_of_a_version_are_there(series: str) -> None:
    version = kernel_version(series)
    assert version.patches
    assert all(patch.read_text().count("\n--- ") for patch in version.patch_files)
    lines = version.config_file.read_text().splitlines()
    assert not [line for line in lines if line and not line.startswith(("# ", "CONFIG_"))]


def test_a_named_tarball_is_used_and_said_not_to_be_pinned(workshop, report, tmp_path) -> None:
    (tmp_path / "linux-9.9.tar.xz").write_bytes(b"kernel")
    tarball = OwnTarball(tmp_path / "linux-9.9.tar.xz")
    source = kernel_source.obtain(workshop, kernel_version(), tarball)
    assert not source.pinned
    assert (workshop.folder / kernel_source.TARBALL).read_bytes() == b"kernel"
    assert "not the pinned file" in report.notes[0]
    kernel_source.obtain(workshop, kernel_version("2.6.32"), tarball)
    assert "of which no SHA-256 is pinned" in report.notes[1]


def test_a_named_tarball_that_is_not_there_is_an_error(workshop: Workshop, tmp_path: Path) -> None:
    with pytest.raises(TcplabError, match="is not a file"):
        recipe.build_kernel(workshop, LAB_KERNEL, tmp_path / "none.tar.xz")


def test_no_source_anywhere_names_every_place(workshop: Workshop, monkeypatch) -> None:
    def nowhere(*_: object) -> str:
        """Nowhere."""
        raise TcplabError("no road leads there.")

    for place in ("installed", "from_pinned_package", "from_package", "from_kernel_org"):
        monkeypatch.setattr(kernel_source, place, nowhere)
    with pytest.raises(TcplabError, match=r"kernel build 7\.2 --source") as caught:
        kernel_source.obtain(workshop, kernel_version())
    assert caught.value.problem.count("no road leads there") == 4


def test_the_pinned_source_is_preferred_wherever_it_comes_from(
    workshop: Workshop, report: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def has(content: bytes) -> Any:
        def place(workshop: Workshop, _kernel: object) -> str:
            """A place."""
            (workshop.folder / kernel_source.TARBALL).write_bytes(content)
            return content.decode()

        return place

    version = replace(kernel_version(), sha256=hashlib.sha256(b"pinned").hexdigest())
    for name, content in (("installed", b"newer"), ("from_pinned_package", b"pinned")):
        monkeypatch.setattr(kernel_source, name, has(content))
    source = kernel_source.obtain(workshop, version)
    assert source.pinned and source.origin == "pinned"
    assert (workshop.folder / kernel_source.TARBALL).read_bytes() == b"pinned"
    for name in ("from_pinned_package", "from_package", "from_kernel_org"):
        monkeypatch.setattr(kernel_source, name, has(b"newer"))
    source = kernel_source.obtain(workshop, version)
    assert not source.pinned and source.origin == "newer"
    assert "gives another lab" in report.notes[-1]


def test_kernel_org_is_checked_against_its_list(workshop: Workshop, tmp_path, monkeypatch) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "linux-7.2.tar.xz").write_bytes(b"kernel")
    version = replace(kernel_version(), url=(site / "linux-7.2.tar.xz").as_uri())
    digest = subprocess.run(
        ["sha256sum", "linux-7.2.tar.xz"], cwd=site, capture_output=True, text=True
    ).stdout
    (site / "sha256sums.asc").write_text(f"-----BEGIN PGP SIGNED MESSAGE-----\n\n{digest}")
    assert kernel_source.from_kernel_org(workshop, version).endswith("linux-7.2.tar.xz")
    (site / "linux-7.2.tar.xz").write_bytes(b"evil")
    with pytest.raises(TcplabError, match="does not have the SHA-256"):
        kernel_source.from_kernel_org(workshop, version)


@pytest.mark.needs("patch")
def test_a_patch_that_does_not_fit_is_one_clear_error(workshop: Workshop) -> None:
    (workshop.folder / "tree/arch/um").mkdir(parents=True)
    (workshop.folder / "tree/arch/um/Kconfig").write_text("something else\n")
    source = kernel_source.ObtainedSource("linux-9.9.tar.xz", "0", pinned=False)
    with pytest.raises(TcplabError, match=r"hz.patch does not apply to linux-9\.9\.tar\.xz"):
        recipe.apply(workshop, PATCHES / "hz.patch", source, kernel_version())


def test_a_lost_option_is_named(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    (workshop.folder / "tree").mkdir()
    config = kernel_version().config_file.read_text()
    (workshop.folder / "tree/.config").write_text(config.replace("CONFIG_NET_SCH_NETEM=y", ""))
    monkeypatch.setattr(Workshop, "run", lambda *_, **__: "")
    with pytest.raises(
        TcplabError, match=r"does not take these lines of lab\.config: CONFIG_NET_SCH_NETEM=y"
    ):
        recipe.configure(KernelBuild(kernel_version(), LAB_KERNEL, None, workshop))


def test_a_full_disk_is_noticed_before_the_build(tmp_path: Path) -> None:
    with pytest.raises(TcplabError, match="Make room, or name another folder in TCPLAB_CACHE"):
        builds.need_space(tmp_path, 1 << 60)


def test_missing_tools_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda tool, path: "/apt" if "apt" in tool else None)
    monkeypatch.delenv(packages.YES, raising=False)
    with pytest.raises(TcplabError, match=r"Missing here: flex, gcc.*apt-get install .*flex gcc"):
        packages.install_missing(["flex", "gcc"])


def test_a_command_runs_sealed_and_its_output_is_kept(workshop: Workshop) -> None:
    printed = workshop.run(
        "Looking", ["sh", "-c", "pwd; env; touch made; touch /etc/made 2>/dev/null || echo sealed"]
    )
    assert printed.splitlines()[0] == builds.FOLDER
    assert "SOURCE_DATE_EPOCH=0" in printed
    assert "sealed" in printed
    assert (workshop.folder / "made").exists()
    assert workshop.log.read_text() == printed


def test_a_failed_command_names_the_log(workshop: Workshop) -> None:
    with pytest.raises(CommandError, match="exit status 3") as caught:
        workshop.run("Failing", ["sh", "-c", "echo reason; exit 3"])
    assert "reason" in str(caught.value)
    assert str(workshop.log) in caught.value.remedy


@pytest.mark.parametrize("program", [tools.BUBBLEWRAP, tools.SQUASH])
def test_fetched_programs_take_no_library_of_this_machine(program: str) -> None:
    """Another C library's libpthread does not start (Debian sid)."""
    folder = cache.ready(tools.tools_recipe(), BuildReport()).folder
    command = [*tools.fetched_command(program, BuildReport())]
    command.insert(1, "--list")
    taken = re.findall(r"=> (\S+)", run(command))
    assert taken and {str(Path(library).parent) for library in taken} == {str(folder)}


@pytest.mark.long
def test_the_same_packages_give_the_same_image_whatever_the_umask(workshop: Workshop) -> None:
    usual = cache.ready(image.image_recipe(), BuildReport()).files[image.IMAGE]
    before = os.umask(0o077)
    try:
        image.build_image(workshop)
    finally:
        os.umask(before)
    assert digest_of(workshop.folder / image.IMAGE) == usual


def test_the_image_holds_what_the_testbed_uses() -> None:
    assert {
        "mininet",
        "openvswitch-switch",
        "iperf",
        "tcpdump",
        "iproute2",
        "ethtool",
        "python3-scapy",
    } <= {*image.wanted()}


@pytest.mark.parametrize(
    ("suite", "expected"),
    [
        ("bookworm", "http://mirror/debian/"),
        ("bookworm-security", "http://mirror/security/"),
        ("trixie-backports", "http://mirror/debian/"),
    ],
)
def test_the_mirror_is_the_machines_own(suite: str, expected: str, monkeypatch) -> None:
    listed = (
        "Debian bookworm http://mirror/debian/\nDebian bookworm-security"
        " http://mirror/security/\nnodesource x http://y\n"
    )
    monkeypatch.setattr(debian, "apt_output", lambda *_: listed)
    monkeypatch.delenv("TCPLAB_MIRROR", raising=False)
    assert debian.mirror(suite) == expected


def test_without_a_debian_mirror_new_packages_need_its_name(monkeypatch, workshop) -> None:
    monkeypatch.setattr(debian, "apt_output", lambda *_: "Ubuntu noble http://mirror/ubuntu/\n")
    monkeypatch.delenv("TCPLAB_MIRROR", raising=False)
    with pytest.raises(TcplabError, match="TCPLAB_MIRROR"):
        debian.Apt(workshop, "bookworm")._mirror()


def test_a_pipe_gets_a_line_now_and_then() -> None:
    stream = io.StringIO()
    report = LineReport(stream, interval=0.0)
    report.step("Building", None)
    report.step("Building", 0.25)
    report.step("Squashing", None)
    lines = stream.getvalue().splitlines()
    assert [lines[0], lines[2]] == ["Building ...", "Squashing ..."]
    assert lines[1].startswith("Building: 25%, about ")


def test_a_terminal_keeps_notes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: True)
    with builds.shown(stream) as report:
        report.step("Building", None)
        report.note("A note")
        report.step("Squashing", None)
    erase = "\x1b[K"
    pieces = [f"Building ...{erase}\r", f"A note{erase}\n", f"Squashing ...{erase}\r", f"{erase}\r"]
    assert stream.getvalue() == "".join(pieces)


@pytest.mark.parametrize(
    ("elapsed", "share", "expected"),
    [(30.0, None, "30 s so far"), (30.0, 0.0, "30 s so far"), (30.0, 0.25, "25%, about 90 s left")],
)
def test_the_estimate(elapsed: float, share: float | None, expected: str) -> None:
    assert builds.progress_text(elapsed, share) == expected
