"""Files of the cache are read again when they may be others than those that were checked."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from testbed.builds import BuildReport, cache


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files that are read whole."""
    names: list[str] = []
    check = cache.check_file

    def checked(file: Path, expected: tuple[int, str]) -> None:
        names.append(file.name)
        check(file, expected)

    monkeypatch.setattr(cache, "check_file", checked)
    return names


@pytest.fixture
def known(oven: Any, report: Any, cache_folder: Path, monkeypatch, read: list[str]) -> cache.Recipe:
    """The recipe of an entry whose files were checked, and of which nothing was read since."""
    monkeypatch.setattr(cache, "_SETTLED", 0.0)
    recipe: cache.Recipe = oven.recipe()
    cache.ready(recipe, report)
    assert cache.usable(recipe, BuildReport())
    wait_for_the_next_tick(recipe.place / "slice")
    read.clear()
    return recipe


def wait_for_the_next_tick(file: Path) -> None:
    """What is changed after this has a later time than the file, on file systems of any kernel."""
    later = file.parent.with_name("later")
    while True:
        later.write_text("")
        if later.stat().st_ctime_ns > file.stat().st_ctime_ns:
            return


def flipped(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[0] ^= 1
    file.write_bytes(content)


def flipped_with_its_times(file: Path) -> None:
    """As a program does that hides a change: the times of the last write can be set."""
    before = file.stat()
    flipped(file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replaced(file: Path) -> None:
    other = file.with_name("other")
    other.write_bytes(file.read_bytes()[::-1])
    os.replace(other, file)


@pytest.mark.parametrize("change", [flipped, flipped_with_its_times, replaced])
def test_a_change_is_noticed_whatever_the_times_say(known, change, report) -> None:
    change(known.place / "slice")
    assert cache.usable(known, report) is None
    assert any("is damaged" in note for note in report.notes)


def test_what_has_not_changed_is_not_read_again(known: cache.Recipe, read: list[str]) -> None:
    assert cache.usable(known, BuildReport()) == cache.verify(known, known.place)
    assert read == ["slice"]  # by verify, which is asked to


def test_after_a_day_files_are_read_again(known, read, monkeypatch) -> None:
    tomorrow = time.time() + 24 * 3600
    monkeypatch.setattr(time, "time", lambda: tomorrow)
    assert cache.usable(known, BuildReport())
    assert read == ["slice"]


def test_a_file_that_was_just_written_is_not_remembered(oven, report, cache_folder, read) -> None:
    recipe = oven.recipe()
    cache.ready(recipe, report)
    read.clear()
    assert all(cache.usable(recipe, BuildReport()) for _ in range(2))
    assert read == ["slice", "slice"]
