"""The lab in one file: it arrives whole, and hostile or damaged files are refused."""

import io
import os
import shutil
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from testbed.builds import cache
from testbed.lab import commands
from topologies.errors import TcplabError


@pytest.fixture
def recipes(oven: Any) -> list[cache.Recipe]:
    return [oven.recipe("kernel", "k", "linux"), oven.recipe("image", "i", "image.squashfs")]


@pytest.fixture
def exported(recipes: list[cache.Recipe], report: Any, tmp_path: Path) -> Path:
    for recipe in recipes:
        cache.ready(recipe, report)
    commands.export(recipes, tmp_path / "lab.tar")
    return tmp_path / "lab.tar"


def test_an_exported_lab_arrives_whole(recipes, exported, oven, report) -> None:
    before = [cache.verify(recipe, recipe.place).files for recipe in recipes]
    shutil.rmtree(cache.folder())
    commands.import_(recipes, exported, report)
    assert [cache.ready(recipe, report).files for recipe in recipes] == before
    assert oven.built == ["kernel", "image"]


def test_import_replaces_a_damaged_entry(recipes, exported, report) -> None:
    (recipes[0].place / "linux").write_text("broken")
    commands.import_(recipes, exported, report)
    assert cache.verify(recipes[0], recipes[0].place)


def test_the_same_lab_gives_the_same_file(recipes, exported, tmp_path) -> None:
    os.utime(recipes[0].place / "linux", (1, 1))
    commands.export(recipes, tmp_path / "again.tar")
    assert (tmp_path / "again.tar").read_bytes() == exported.read_bytes()


def test_a_full_disk_is_named_and_changes_nothing(recipes, exported, report, monkeypatch) -> None:
    """/dev/full is a disk without room (full(4))."""
    before = [cache.verify(recipe, recipe.place).files for recipe in recipes]

    def without_room(content: Any, _stream: Any) -> None:
        with open("/dev/full", "wb") as disk:
            disk.write(content.read())

    monkeypatch.setattr(shutil, "copyfileobj", without_room)
    with pytest.raises(TcplabError, match="does not fit on the disk of") as caught:
        commands.import_(recipes, exported, report)
    assert "TCPLAB_CACHE" in caught.value.remedy and "whole file" not in str(caught.value)
    assert [cache.verify(recipe, recipe.place).files for recipe in recipes] == before


def test_export_into_a_missing_folder_is_one_clear_error(recipes, exported) -> None:
    with pytest.raises(TcplabError, match="cannot be written") as caught:
        commands.export(recipes, exported.parent / "nowhere/lab.tar")
    assert "Free" not in caught.value.remedy


def rewritten(
    file: Path, change: Callable[[tarfile.TarInfo, bytes], list[tuple[tarfile.TarInfo, bytes]]]
) -> Path:
    """The archive with each member replaced by what `change` makes of it."""
    target = file.with_name("hostile.tar")
    with tarfile.open(file) as old, tarfile.open(target, "w") as new:
        for member in old.getmembers():
            stream = old.extractfile(member)
            assert stream
            for info, content in change(member, stream.read()):
                info.size = len(content) if info.isreg() else 0
                new.addfile(info, io.BytesIO(content))
    return target


def renamed(name: str) -> Callable[[tarfile.TarInfo, bytes], list[tuple[tarfile.TarInfo, bytes]]]:
    def change(member: tarfile.TarInfo, content: bytes) -> list[tuple[tarfile.TarInfo, bytes]]:
        member.name = name if member.name == "kernel/linux" else member.name
        return [(member, content)]

    return change


def of_type(kind: bytes) -> Callable[[tarfile.TarInfo, bytes], list[tuple[tarfile.TarInfo, bytes]]]:
    def change(member: tarfile.TarInfo, content: bytes) -> list[tuple[tarfile.TarInfo, bytes]]:
        if member.name == "kernel/linux":
            member.type, member.linkname = kind, "/etc/passwd"
        return [(member, content)]

    return change


def damaged(member: tarfile.TarInfo, content: bytes) -> list[tuple[tarfile.TarInfo, bytes]]:
    return [(member, content.replace(b"k", b"x", 1) if member.name == "kernel/linux" else content)]


def doubled(member: tarfile.TarInfo, content: bytes) -> list[tuple[tarfile.TarInfo, bytes]]:
    return [(member, content)] * 2


def without_image(member: tarfile.TarInfo, content: bytes) -> list[tuple[tarfile.TarInfo, bytes]]:
    return [] if member.name == "image/image.squashfs" else [(member, content)]


HOSTILE = {
    "path upwards": renamed("../../../linux"),
    "absolute path": renamed("/etc/linux"),
    "dot in the path": renamed("kernel/./linux"),
    "file too many": renamed("kernel/other"),
    "symbolic link": of_type(tarfile.SYMTYPE),
    "hard link": of_type(tarfile.LNKTYPE),
    "device": of_type(tarfile.CHRTYPE),
    "folder": of_type(tarfile.DIRTYPE),
    "pipe": of_type(tarfile.FIFOTYPE),
    "other content": damaged,
    "twice": doubled,
    "incomplete": without_image,
}


@pytest.mark.parametrize("change", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_archives_are_refused_and_leave_nothing(
    recipes: list[cache.Recipe], exported: Path, report: Any, change: Any, tmp_path: Path
) -> None:
    hostile = rewritten(exported, change)
    shutil.rmtree(cache.folder())
    outside = sorted(tmp_path.iterdir())
    with pytest.raises(TcplabError, match="is not taken"):
        commands.import_(recipes, hostile, report)
    locks = sorted(f"{recipe.entry}.lock" for recipe in recipes)
    assert sorted(file.name for file in cache.folder().iterdir()) == locks
    assert sorted(tmp_path.iterdir()) == sorted([*outside, cache.folder()])


@pytest.mark.parametrize(
    "content", [b"", b"not a tar file", b"\0" * 4096], ids=["empty", "text", "zeros"]
)
def test_what_is_no_archive_is_refused(recipes, tmp_path, report, content) -> None:
    (tmp_path / "lab.tar").write_bytes(content)
    with pytest.raises(TcplabError, match="is not taken"):
        commands.import_(recipes, tmp_path / "lab.tar", report)


def test_a_pipe_is_refused_at_once(recipes: list[cache.Recipe], tmp_path, report: Any) -> None:
    """Nobody writes to it, so it would be waited for without a word."""
    os.mkfifo(tmp_path / "lab.tar")
    (tmp_path / "link.tar").symlink_to("lab.tar")
    for name in ("lab.tar", "link.tar"):
        with pytest.raises(TcplabError, match="is not taken: it is no regular file"):
            commands.import_(recipes, tmp_path / name, report)


def test_a_cut_archive_is_refused(recipes: list[cache.Recipe], exported: Path, report: Any) -> None:
    os.truncate(exported, 2000)
    with pytest.raises(TcplabError, match="is not taken"):
        commands.import_(recipes, exported, report)


def test_a_file_above_the_limit_is_refused(recipes, exported, report, monkeypatch) -> None:
    monkeypatch.setattr(commands, "LARGEST", 50)
    with pytest.raises(TcplabError, match="linux"):
        commands.import_(recipes, exported, report)


def test_another_recipe_is_refused(oven, recipes, exported, report) -> None:
    changed = [oven.recipe("kernel", "newer", "linux"), recipes[1]]
    with pytest.raises(TcplabError, match="another recipe made it"):
        commands.import_(changed, exported, report)
