"""The cache of what is built once: entries that are whole, damaged, built twice or killed."""

import json
import lzma
import multiprocessing
import os
import pwd
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from testbed.builds import BuildReport, Workshop, cache
from testbed.host import CODE
from testbed.lab import commands
from topologies.errors import TcplabError


def leftovers(folder: Path) -> list[Path]:
    return list(folder.glob(".*"))


def test_an_entry_is_built_once_and_nothing_but_its_outputs_stay(
    oven: Any, report: Any, cache_folder: Path
) -> None:
    first = cache.ready(oven.recipe(), report)
    second = cache.ready(oven.recipe(), report)
    assert oven.built == ["cake"]
    assert first == second
    assert sorted(file.name for file in first.folder.iterdir()) == ["manifest.json", "slice"]
    assert first.facts["release"] == "7.2"
    assert leftovers(cache_folder) == []


def test_a_changed_source_is_another_entry(oven: Any, report: Any) -> None:
    sweet = cache.ready(oven.recipe(), report)
    sour = cache.ready(oven.recipe(content="sour"), report)
    assert sweet.folder != sour.folder
    assert sweet.files != sour.files


def test_rebuild_builds_what_is_ready(oven: Any, report: Any) -> None:
    cache.ready(oven.recipe(), report)
    cache.ready(oven.recipe(), report, rebuild=True)
    assert oven.built == ["cake", "cake"]


def flip_a_byte(place: Path) -> None:
    content = bytearray((place / "slice").read_bytes())
    content[7] ^= 1
    (place / "slice").write_bytes(content)


def change_the_key(place: Path) -> None:
    manifest = json.loads((place / "manifest.json").read_text())
    (place / "manifest.json").write_text(json.dumps({**manifest, "key": "0"}))


DAMAGES = {
    "missing file": lambda place: (place / "slice").unlink(),
    "short file": lambda place: os.truncate(place / "slice", 5),
    "one bit": flip_a_byte,
    "missing manifest": lambda place: (place / "manifest.json").unlink(),
    "empty manifest": lambda place: (place / "manifest.json").write_text(""),
    "manifest of another shape": (
        lambda place: (place / "manifest.json").write_text('{"files": []}')
    ),
    "another recipe": change_the_key,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_entry_is_noticed_said_and_built_again(
    oven: Any, report: Any, damage: Any, cache_folder: Path
) -> None:
    before = cache.ready(oven.recipe(), report)
    damage(before.folder)
    again = cache.ready(oven.recipe(), report)
    assert again == before
    assert oven.built == ["cake", "cake"]
    assert any("is damaged" in note for note in report.notes)
    assert leftovers(cache_folder) == []


def test_a_failed_build_leaves_only_its_log(tmp_path, cache_folder: Path, report: Any) -> None:
    def fail(workshop: Workshop) -> cache.Facts:
        (workshop.folder / "half").write_text("half")
        raise TcplabError("no flour")

    recipe = cache.Recipe("cake", (), ("slice",), fail)
    with pytest.raises(TcplabError, match="no flour"):
        cache.ready(recipe, report)
    names = sorted(file.name for file in cache_folder.iterdir())
    assert names == [f"{recipe.entry}.lock", f"{recipe.entry}.log"]


def test_what_a_killed_build_left_is_removed(oven: Any, report: Any, cache_folder: Path) -> None:
    (cache_folder / ".cake-dead/tree").mkdir(parents=True)
    (cache_folder / ".bread-alive").mkdir()
    cache.ready(oven.recipe(), report)
    assert [path.name for path in leftovers(cache_folder)] == [".bread-alive"]


def test_builds_of_two_entries_of_a_name_go_on_side_by_side(
    oven: Any, report: Any, cache_folder: Path, tmp_path: Path
) -> None:
    """Such as two kernels: none waits, and each keeps its temporary folder and its log."""
    dead = cache_folder / f".{oven.recipe(content='salt').entry}-dead"

    def build(workshop: Workshop) -> cache.Facts:
        dead.mkdir()
        workshop.log.write_text("sweet\n")
        cache.ready(oven.recipe(content="sour"), report)
        shutil.move(workshop.log, workshop.folder / "slice")
        return {}

    outer = cache.Recipe("cake", (), ("slice",), build)
    entry = cache.ready(outer, report)
    assert (entry.folder / "slice").read_text() == "sweet\n"
    assert oven.built == ["cake"] and report.notes == [] and not dead.exists()


def test_a_cache_that_cannot_be_made_is_an_error_with_a_remedy(
    oven: Any, report: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TCPLAB_CACHE", str(tmp_path / "file/cache"))
    with pytest.raises(TcplabError, match="TCPLAB_CACHE"):
        cache.ready(oven.recipe(), report)


def slow_recipe(diary: Path) -> cache.Recipe:
    def build(workshop: Workshop) -> cache.Facts:
        with diary.open("a") as stream:
            stream.write("built\n")
        time.sleep(0.5)
        (workshop.folder / "slice").write_text("slow")
        return {}

    return cache.Recipe("cake", (), ("slice",), build)


class Diary(BuildReport):
    def __init__(self, diary: Path) -> None:
        self.diary = diary

    def note(self, text: str) -> None:
        with self.diary.open("a") as stream:
            stream.write(f"{text}\n")


def bake(diary: Path) -> None:
    cache.ready(slow_recipe(diary), Diary(diary))


def test_two_builds_at_once_wait_and_build_once(cache_folder: Path, tmp_path: Path) -> None:
    diary = tmp_path / "diary"
    context = multiprocessing.get_context("fork")
    bakers = [context.Process(target=bake, args=(diary,)) for _ in range(3)]
    for baker in bakers:
        baker.start()
    for baker in bakers:
        baker.join()
    assert [baker.exitcode for baker in bakers] == [0, 0, 0]
    lines = diary.read_text().splitlines()
    assert lines.count("built") == 1
    assert lines.count("Another build of the cake is running; waiting for it.") == 2


def test_the_lock_of_a_killed_build_is_free(cache_folder: Path, tmp_path, report: Any) -> None:
    diary = tmp_path / "diary"
    baker = multiprocessing.get_context("fork").Process(target=bake, args=(diary,))
    baker.start()
    while not (diary.exists() and diary.read_text()):
        time.sleep(0.01)
    baker.kill()
    baker.join()
    assert leftovers(cache_folder)
    cache.ready(slow_recipe(diary), report)
    assert diary.read_text().splitlines() == ["built", "built"]
    assert leftovers(cache_folder) == []
    assert report.notes == []


BESIDE_THE_CODE = CODE / ".cache" / "tcplab"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The user's home, without variables that name another folder."""
    monkeypatch.delenv("TCPLAB_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_where_the_cache_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cache.folder() == home / ".cache" / "tcplab"
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    assert cache.folder() == Path("/b/tcplab")
    monkeypatch.setenv("TCPLAB_CACHE", "/a")
    assert cache.folder() == Path("/a")


def test_a_user_without_a_home_has_the_cache_beside_the_code(home: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(home / "nowhere"))
    assert cache.folder() == BESIDE_THE_CODE
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", {}.__getitem__)  # the system does not know the user
    assert cache.folder() == BESIDE_THE_CODE


def test_a_cache_in_a_home_that_is_read_only_serves(home: Path, monkeypatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert cache.folder() == BESIDE_THE_CODE
    (home / ".cache/tcplab").mkdir(parents=True)
    assert cache.folder() == home / ".cache/tcplab"


def test_the_compiler_is_in_the_place_but_not_in_the_key(oven: Any, report: Any) -> None:
    old, new = (replace(oven.recipe(), tools=said) for said in ("gcc 12", "gcc 14"))
    assert old.key == new.key
    assert cache.ready(old, report).folder != cache.ready(new, report).folder
    assert oven.built == ["cake", "cake"]


def test_what_was_given_serves_every_compiler_until_it_is_built_anew(
    oven: Any, report: Any, tmp_path: Path
) -> None:
    recipe = replace(oven.recipe(), tools="gcc 12")
    cache.ready(recipe, report)
    commands.export([recipe], tmp_path / "lab.tar")
    elsewhere = replace(recipe, tools="")
    assert cache.usable(elsewhere, report) is None
    commands.import_([elsewhere], tmp_path / "lab.tar", report)
    assert cache.ready(elsewhere, report).folder == elsewhere.place_if_given
    assert cache.ready(elsewhere, report, rebuild=True).folder == elsewhere.place_if_built
    assert not elsewhere.place_if_given.exists() and oven.built == ["cake", "cake"]


def test_what_a_release_brings_is_used_where_it_is_and_never_built(
    oven: Any, report: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = oven.recipe()
    monkeypatch.setattr(cache, "BROUGHT", [tmp_path / "brought"])
    shutil.copytree(cache.ready(recipe, report).folder, tmp_path / "brought/cake")
    assert cache.ready(recipe, report).folder == tmp_path / "brought/cake"
    with pytest.raises(TcplabError, match="is not built here"):
        cache.ready(recipe, report, rebuild=True)
    (tmp_path / "brought/cake/slice").write_text("bitten")
    with pytest.raises(TcplabError, match="is damaged"):
        cache.ready(recipe, report)


@pytest.fixture
def prebuilt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cache, "PREBUILT", tmp_path / "prebuilt")
    return tmp_path / "prebuilt"


def test_an_entry_that_comes_with_the_code_is_used_until_its_recipe_changes(
    oven: Any, report: Any, prebuilt: Path
) -> None:
    recipe = oven.recipe()
    assert cache.manifest_of(recipe) is None
    made = cache.ready(recipe, report)
    cache.pack_prebuilt(recipe.name, recipe.outputs, made.folder)
    shutil.rmtree(made.folder)
    assert cache.manifest_of(recipe) is not None
    entry = cache.ready(recipe, report)
    assert oven.built == ["cake"] and entry.files == made.files
    assert entry.folder == recipe.place_if_given
    changed = oven.recipe(content="salt")
    assert cache.manifest_of(changed) is None
    assert cache.ready(changed, report).files != made.files
    assert oven.built == ["cake", "cake"]


def test_a_damaged_entry_is_unpacked_again_and_damaged_code_is_refused(
    oven: Any, report: Any, prebuilt: Path
) -> None:
    recipe = oven.recipe()
    cache.pack_prebuilt(recipe.name, recipe.outputs, cache.ready(recipe, report).folder)
    shutil.rmtree(recipe.place)
    cache.ready(recipe, report)
    (recipe.place / "slice").write_text("bitten")
    cache.ready(recipe, report)
    assert oven.built == ["cake"] and "sweet" in (recipe.place / "slice").read_text()
    shutil.rmtree(recipe.place)
    (prebuilt / "cake/slice.xz").write_bytes(lzma.compress(b"another"))
    with pytest.raises(TcplabError, match=r"differs from its SHA-256.*git checkout"):
        cache.ready(recipe, report)


def test_entries_that_come_with_the_code_are_compared_with_a_new_build(
    oven: Any, report: Any, prebuilt: Path
) -> None:
    recipe = oven.recipe()
    with pytest.raises(TcplabError, match="release --prebuilt"):
        cache.differences(recipe, report)
    cache.pack_prebuilt(recipe.name, recipe.outputs, cache.ready(recipe, report).folder)
    assert cache.differences(recipe, report) == []
    other = oven.recipe(content="salt")
    manifest = prebuilt / "cake/manifest.json"
    manifest.write_text(manifest.read_text().replace(recipe.key, other.key))
    assert cache.differences(other, report) == ["slice"]
