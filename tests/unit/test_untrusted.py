"""A stranger's file is read only if it is regular, below its folder and not too large."""

import os
import pickle
import socket
from pathlib import Path

import pytest

from testbed.virtual.processes import adopted
from topologies import untrusted
from topologies.errors import TcplabError
from topologies.untrusted import StrangeFile

SECRET = "the secret of the course"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder next to a secret."""
    (tmp_path / "secret").write_text(SECRET)
    place = tmp_path / "out"
    (place / "inner").mkdir(parents=True)
    (place / "inner" / "file").write_text("content")
    return place


def test_a_regular_file_is_read(folder: Path) -> None:
    assert untrusted.text(folder, "inner/file") == "content"
    assert untrusted.tail(folder, "inner/file", 4) == "tent"
    assert untrusted.is_file(folder, "inner/file")
    assert untrusted.text_if_any(folder, "absent") == ""
    with pytest.raises(FileNotFoundError):
        untrusted.content(folder, "absent")


def test_its_own_folder_may_be_reached_through_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to(folder)
    assert untrusted.text(tmp_path / "latest", "inner/file") == "content"


@pytest.mark.parametrize(
    "name",
    ["link", "away/secret", "../secret", "inner/../../secret", "fifo", "socket", "inner", "."],
)
def test_nothing_else_is(folder: Path, name: str, tmp_path, monkeypatch) -> None:
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "away").symlink_to(tmp_path)
    os.mkfifo(folder / "fifo")
    monkeypatch.chdir(folder)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
    with pytest.raises(StrangeFile) as caught:
        untrusted.content(folder, name)
    assert SECRET not in str(caught.value)
    assert not untrusted.is_file(folder, name)
    with pytest.raises(StrangeFile):
        untrusted.content(folder, str(tmp_path / "secret"))


def test_no_more_is_read_than_wanted(folder: Path) -> None:
    with (folder / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(StrangeFile, match="more than 1,000 bytes"):
        untrusted.content(folder, "sparse", 1000)
    assert untrusted.tail(folder, "sparse", 10) == "\0" * 10


def test_the_error_survives_a_process_boundary(folder: Path) -> None:
    with pytest.raises(StrangeFile) as caught:
        untrusted.content(folder, "inner")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (str(again), again.reason) == (str(caught.value), caught.value.reason)


def test_a_walk_ends_whatever_was_left(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"abcdefgh")
    deep.mkdir(parents=True)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert len(list(untrusted.entries(tmp_path, 3, 100))) == 4
    for number in range(50):
        (tmp_path / str(number)).touch()
    assert len(list(untrusted.entries(tmp_path, 20, 30))) == 30


def test_what_goes_away_during_a_walk_is_passed_over(tmp_path: Path) -> None:
    """A guest renames a folder when it is whole, and the walk goes on beside it."""
    for number in range(50):
        (tmp_path / f"{number}.partial").mkdir()
        (tmp_path / f"{number}.partial" / "file").touch()
    walk = untrusted.entries(tmp_path, 3, 1000)
    first, _ = next(walk)
    for folder in list(tmp_path.iterdir()):
        folder.rename(folder.with_suffix(""))
    assert [path for path, _ in walk if path != first and path.exists()] == []


def _deep_and_locked(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=descriptor)
        inner = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = inner
    os.fchmod(descriptor, 0)
    os.close(descriptor)


def test_anything_can_be_removed(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    _deep_and_locked(place)
    (place / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "kept").mkdir()
    untrusted.remove(place)
    assert os.listdir(tmp_path) == ["kept"]


def test_an_adopted_folder_holds_plain_files_only(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(SECRET)
    out = tmp_path / "out"
    out.mkdir()

    def leave() -> None:
        (out / "good").mkdir()
        (out / "good" / "file").write_text("x")
        (out / "good" / "file").chmod(0o4777)
        (out / "job.log").symlink_to(tmp_path / "secret")
        os.mkfifo(out / "good" / "fifo")
        os.link(tmp_path / "secret", out / "again")
        (out / "a\nb").write_text("x")
        (out / "deep").mkdir()
        _deep_and_locked(out / "deep")
        out.chmod(0)

    with pytest.raises(TcplabError, match="what no run leaves") as caught, adopted(out, None):
        leave()
    assert SECRET not in str(caught.value)
    left = [path.relative_to(out).as_posix() for path, _ in untrusted.entries(out, 9, 100)]
    assert sorted(left) == ["deep", "deep/d", "deep/d/d", "good", "good/file"]
    assert (out / "good" / "file").stat().st_mode & 0o7777 == 0o644
    assert (tmp_path / "secret").stat().st_nlink == 1


def test_nobody_else_enters_a_folder_before_it_is_adopted(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir(mode=0o777)
    with adopted(out, None):
        assert out.stat().st_mode & 0o7777 == 0o700
    assert out.stat().st_mode & 0o7777 == 0o755


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_is_not_adopted(tmp_path: Path) -> None:
    guest, stranger = (65534, 65534), (12345, 12345)
    with (
        pytest.raises(TcplabError, match=r"a file of another user, 'evidence\.json'"),
        adopted(tmp_path, guest),
    ):
        for name, owner in (("evidence.json", stranger), ("result.json", guest)):
            (tmp_path / name).write_text("{}")
            os.chown(tmp_path / name, *owner)
        (tmp_path / "console.log").write_text("")
    assert sorted(os.listdir(tmp_path)) == ["console.log", "result.json"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root can enter every folder")
def test_a_locked_file_is_a_strange_one(folder: Path) -> None:
    (folder / "inner").chmod(0)
    with pytest.raises(StrangeFile, match="it is locked"):
        untrusted.content(folder, "inner/file")
    assert not untrusted.is_file(folder, "inner/file")
    (folder / "inner").chmod(0o700)


def test_the_guests_own_error_is_kept_beside_what_it_left(tmp_path: Path) -> None:
    with pytest.raises(TcplabError, match="its own words"), adopted(tmp_path, None):
        raise TcplabError("its own words")
    with pytest.raises(TcplabError, match="a FIFO") as caught, adopted(tmp_path, None):
        os.mkfifo(tmp_path / "fifo")
        raise TcplabError("its own words")
    assert isinstance(caught.value.__cause__, TcplabError)
