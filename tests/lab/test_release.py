"""What a release is made of: files that are the same whoever makes them, and a lab that arrives."""

import json
import os
import re
import shutil
import subprocess
import tarfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from testbed import doctor
from testbed import release as lock_files
from testbed.builds import BuildReport, cache
from testbed.builds.cache import Recipe
from testbed.builds.engine import engine_file
from testbed.lab import ready
from testbed.lab.commands import import_
from testbed.lab.ready import lab
from testbed.lab.tools import bubblewrap_command
from testbed.release import files
from testbed.release.files import pack
from topologies.errors import TcplabError

WORKFLOWS = lock_files.CODE / ".github/workflows"
_PINNED = re.compile(r"(?m)^([a-z0-9][\w.-]*)==(\S+)")


def tree(folder: Path, names: list[str]) -> Path:
    """A folder of the same files, made in this order, at this minute, by this user."""
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{name}\n" * 1000)
    (folder / "start").chmod(0o777)
    (folder / "link").symlink_to("start")
    return folder


def packed(folder: Path, file: Path) -> None:
    with file.open("wb") as target:
        pack(folder, target, "tcplab-1")


def test_an_archive_packed_twice_in_two_folders_is_the_same(tmp_path: Path) -> None:
    names = ["start", "a/b.py", "a/c.py"]
    one, two = tree(tmp_path / "one", names), tree(tmp_path / "elsewhere/two", names[::-1])
    os.utime(one / "a/b.py", (1, 1))
    (one / "a/c.py").chmod(0o600)
    os.link(one / "start", tmp_path / "another name")
    packed(one, tmp_path / "one.tar.gz")
    packed(two, tmp_path / "two.tar.gz")
    assert (tmp_path / "one.tar.gz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    with tarfile.open(tmp_path / "one.tar.gz") as archive:
        modes = {member.name: member.mode for member in archive if member.isfile()}
    assert modes == {"tcplab-1/start": 0o755, "tcplab-1/a/b.py": 0o644, "tcplab-1/a/c.py": 0o644}


def test_a_wheel_packed_twice_in_two_folders_is_the_same(tmp_path: Path) -> None:
    pytest.importorskip("wheel", minversion="0.45")
    packed = [wheel(tmp_path / name) for name in ("one", "another")]
    assert packed[0].name == "thing-1-cp311-abi3-manylinux_2_17_x86_64.whl"
    assert packed[0].read_bytes() == packed[1].read_bytes()


def wheel(place: Path) -> Path:
    information = place / "thing-1" / "thing-1.dist-info"
    information.mkdir(parents=True)
    (place / "thing-1/thing.py").write_text("x = 1\n")
    tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-abi3-manylinux_2_17_x86_64\n"
    (information / "WHEEL").write_text(tags)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1\n")
    return files._packed(place / "thing-1", place / "dist")


@pytest.mark.skipif(
    shutil.which("readelf") is None, reason="no readelf here: sudo apt-get install binutils"
)
def test_the_platform_is_that_of_the_newest_function_asked_for() -> None:
    assert re.fullmatch(r"manylinux_2_\d+_x86_64", files.platform_tag(engine_file()))


@pytest.mark.parametrize("file", sorted(WORKFLOWS.glob("*.yml")), ids=lambda file: file.name)
def test_workflows_pin_actions_by_digest(file: Path) -> None:
    text = file.read_text()
    used = re.findall(r"(?m)uses: (\S+)(.*)$", text)
    assert used and all(re.search(r"@[0-9a-f]{40}$", action) for action, _ in used)
    assert all(re.search(r"# v[\d.]+$", version) for _, version in used)
    assert "\nconcurrency:\n" in text and "\npermissions:\n" in text


@pytest.fixture
def cake(oven: Any, report: Any) -> Recipe:
    recipe: Recipe = oven.recipe()
    cache.ready(recipe, report)
    return recipe


def test_the_lab_of_a_release_is_taken_and_the_rest_passed_over(cake, report, tmp_path) -> None:
    entry = cache.verify(cake, cake.place)
    files.add_entry(entry, tmp_path / "tree/tcplab_lab/brought")
    (tmp_path / "tree/tcplab_lab/code.py").write_text("pass")
    packed(tmp_path / "tree", tmp_path / "release")
    shutil.rmtree(cake.place)
    import_([cake], tmp_path / "release", report)
    assert cache.ready(cake, report).files == entry.files


def test_a_damaged_release_is_refused(cake: Recipe, report: Any, tmp_path: Path) -> None:
    files.add_entry(cache.verify(cake, cake.place), tmp_path / "tree/tcplab_lab/brought")
    (tmp_path / "tree/tcplab_lab/brought/cake/slice").write_text("bitten")
    packed(tmp_path / "tree", tmp_path / "release")
    with pytest.raises(TcplabError, match="is not taken"):
        import_([cake], tmp_path / "release", report)
    os.truncate(tmp_path / "release", (tmp_path / "release").stat().st_size // 2)
    with pytest.raises(TcplabError, match="is not taken"):
        import_([cake], tmp_path / "release", report)


def test_a_lab_is_a_releases_only_if_all_its_parts_are(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(ready, "RELEASE_FILE", tmp_path / "release.toml")
    digests = {"kernel": "a" * 64, "image": "b" * 64, "whole": "c" * 64}
    ready.state_release("1.2", digests)
    assert ready.release_of(digests) == "tcplab 1.2"
    assert ready.release_of({**digests, "image": "d" * 64}) == "not a release"
    assert ready.release_of({}) == "not a release"
    ready.released_lab.cache_clear()


def test_the_lab_of_a_checkout_is_the_one_that_comes_with_the_code(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(ready, "RELEASE_FILE", tmp_path / "release.toml")
    ready.state_release("0.1", {"kernel": "a" * 64})
    manifests = [cache.PREBUILT / name / cache.MANIFEST for name in ("kernel", "init")]
    rows = [json.loads(manifest.read_text())["files"] for manifest in manifests]
    files = {name: row["sha256"] for each in rows for name, row in each.items()}
    digests = ready.digests_of_parts({**files, "image.squashfs": "b" * 64})
    assert ready.release_of(digests) == "a checkout"
    assert ready.release_of({**digests, "kernel": "c" * 64}) == "not a release"
    assert doctor.lab([], ready.release_of(digests)).state == "ok"
    ready.released_lab.cache_clear()


def test_the_doctor_names_the_release_or_says_that_it_is_another_lab() -> None:
    assert "tcplab 1.2" in doctor.lab([], "tcplab 1.2").said
    other = doctor.lab([], ready.NOT_A_RELEASE)
    assert other.state == "warning" and "not those of the release" in other.said
    assert "makes what is missing" in doctor.lab(["kernel"], "").said


@pytest.mark.parametrize("name", ["test", "python", "figures", "docs", "build"])
def test_every_python_package_is_locked_with_hashes(name: str) -> None:
    text = (lock_files.LOCKS / f"{name}.lock").read_text()
    pinned = {found.lower().replace("_", "-") for found, _ in _PINNED.findall(text)}
    wanted = {
        re.split(r"[<>=\[ ;]", line)[0].lower().replace(".", "-")
        for line in lock_files.requirements()[name]
    }
    assert wanted <= pinned, "run ./tcplab lock --update"
    entries = re.split(r"(?m)^(?=[a-z0-9])", text)[1:]
    assert all("--hash=sha256:" in entry for entry in entries)


def test_the_locks_agree() -> None:
    """They are installed together."""
    test, python, figures, docs, build = (
        {*_PINNED.findall((lock_files.LOCKS / f"{name}.lock").read_text())}
        for name in ("test", "python", "figures", "docs", "build")
    )
    assert build | figures | docs <= test and python < docs


def test_the_site_needs_no_tools_of_contributors() -> None:
    names = {found for found, _ in _PINNED.findall((lock_files.LOCKS / "docs.lock").read_text())}
    assert not names & {"mypy", "scipy", "pytest", "ruff", "scapy"}


@pytest.mark.virtual
@pytest.mark.skipif(
    shutil.which("unsquashfs") is None,
    reason="no unsquashfs here: sudo apt-get install squashfs-tools",
)
def test_the_python_of_an_archive_needs_nothing_of_the_machine(tmp_path: Path) -> None:
    """In a root that holds nothing else; the shell of its wrapper is not needed either."""
    files.make_python(lab().image, tmp_path, tmp_path / "python")
    loader = ["/python/lib/ld-linux-x86-64.so.2", "--inhibit-cache", "--library-path"]
    loader += ["/python/lib", "--argv0", "/python/bin/python3", "/python/bin/python3.11", "-I"]
    code = "import ssl, sqlite3, ctypes, lzma, bz2, readline, uuid, sys; print(sys.prefix)"
    root = [*bubblewrap_command(), "--unshare-all", "--clearenv"]
    root += ["--ro-bind", str(tmp_path / "python"), "/python"]
    done = subprocess.run([*root, "--", *loader, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("/python\n", "")


def test_the_wrapper_of_python_and_the_start_are_whole() -> None:
    for script in (files._START, files._LAUNCHER):
        subprocess.run(["sh", "-n"], input=script, text=True, check=True)
    (module,) = re.findall(r"-m tcplab\.(\S+)", files._LAUNCHER)
    assert find_spec(module)


def test_an_installed_copy_makes_no_release(tmp_path: Path, monkeypatch: Any) -> None:
    from testbed import release

    monkeypatch.setattr(release, "CODE", tmp_path)
    with pytest.raises(TcplabError, match="Make releases in a checkout"):
        release.make_release(tmp_path, BuildReport())
