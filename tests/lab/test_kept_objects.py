"""What was compiled last is taken over: make compiles what differs, and nothing else."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from testbed.lab.kernel import built
from testbed.lab.kernel.built import _keep, drop_stale_marks, kept_tree, take_over

MAKEFILE = """\
all: a.o b.o
%.o: %.c common.h
\tcat $< common.h >$@
\techo $@ >>compiled
"""
FIRST = {"Makefile": MAKEFILE, "a.c": "a1", "b.c": "b1", "common.h": "h1", "old.c": "gone later"}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCPLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(built, "BUILD_SPACE", 0)
    (tmp_path / "cache").mkdir()


def made(place: Path, sources: dict[str, str], made_with: str = "7.2 gcc") -> list[str]:
    """Unpack sources, all of long ago as a commit's are, make, and keep: what was compiled."""
    tree = place / "tree"
    tree.mkdir(parents=True)
    for name, text in sources.items():
        (tree / name).write_text(text)
        os.utime(tree / name, (1e9, 1e9))
    take_over(tree, made_with)
    (tree / "compiled").unlink(missing_ok=True)
    subprocess.run(["make", "-C", str(tree)], check=True, capture_output=True)
    log = tree / "compiled"
    compiled = log.read_text().split() if log.exists() else []
    _keep(tree)
    return sorted(compiled)


def test_only_what_differs_is_compiled(tmp_path: Path) -> None:
    assert made(tmp_path / "1", FIRST) == ["a.o", "b.o"]
    assert made(tmp_path / "2", FIRST) == []
    assert made(tmp_path / "3", FIRST | {"a.c": "a2"}) == ["a.o"]
    assert made(tmp_path / "4", FIRST) == ["a.o"]
    assert (kept_tree() / "a.o").read_text() == "a1h1"
    assert made(tmp_path / "5", FIRST | {"common.h": "h2"}) == ["a.o", "b.o"]


def test_a_source_that_is_gone_does_not_come_back(tmp_path: Path) -> None:
    made(tmp_path / "1", FIRST)
    made(tmp_path / "2", {name: text for name, text in FIRST.items() if name != "old.c"})
    assert not (kept_tree() / "old.c").exists()
    assert (kept_tree() / "a.o").exists()


def test_what_another_compiler_made_is_of_no_use(tmp_path: Path) -> None:
    made(tmp_path / "1", FIRST)
    assert made(tmp_path / "2", FIRST, "7.2 another gcc") == ["a.o", "b.o"]


def test_a_build_that_was_broken_off_leaves_nothing(tmp_path: Path) -> None:
    made(tmp_path / "1", FIRST)
    tree = tmp_path / "2" / "tree"
    tree.mkdir(parents=True)
    take_over(tree, "7.2 gcc")
    assert not kept_tree().exists()


def test_an_option_of_an_earlier_kernel_leaves_no_mark(tmp_path: Path) -> None:
    config = tmp_path / "include/config"
    config.mkdir(parents=True)
    (config / "auto.conf").write_text("CONFIG_INET=y\nCONFIG_HZ=100\n")
    (config / "kernel.release").write_text("7.2.12\n")
    for option in ("INET", "HZ", "RUSTC_HAS_FILE"):
        (config / option).touch()
    drop_stale_marks(tmp_path)
    assert {file.name for file in config.iterdir()} == {"INET", "HZ", "auto.conf", "kernel.release"}


def test_without_room_for_another_build_nothing_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(built, "BUILD_SPACE", 10**18)
    made(tmp_path / "1", FIRST)
    assert not kept_tree().exists()
