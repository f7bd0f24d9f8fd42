"""Which kernel a name means, and what a source of one's own is built from; nothing is built."""

import subprocess
import tarfile
from pathlib import Path

import pytest

from experiments.spec import DEFAULT_KERNEL
from testbed.lab.kernel import DEFAULT, all_series, series_of
from testbed.lab.kernel.choice import (
    LAB_KERNEL,
    KernelChoice,
    OwnRevision,
    OwnTarball,
    OwnTree,
    chosen,
    ingredients,
    own_source,
    require_unchanged,
    version_in,
)
from testbed.lab.kernel.recipe import kernel_recipe
from topologies.errors import TcplabError, UsageError

MAKEFILE = "# SPDX\nVERSION = 7\nPATCHLEVEL = 1\nSUBLEVEL = 3\nEXTRAVERSION =\n"


@pytest.fixture(autouse=True)
def nothing_remembered() -> None:
    chosen.cache_clear()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "linux"
    (folder / "net").mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder / "net/tcp.c").write_text("int tcp;\n")
    (folder / "net/link").symlink_to("tcp.c")
    return folder


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=A", "-c", "user.email=a@b.example"]
    subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True)


@pytest.fixture
def clone(tree: Path) -> Path:
    git(tree, "init", "--initial-branch=net-next")
    (tree / ".gitignore").write_text("*.o\n")
    git(tree, "add", "--all")
    git(tree, "commit", "--message=first")
    return tree


def test_specs_and_the_lab_mean_the_same_kernel() -> None:
    assert DEFAULT == DEFAULT_KERNEL
    assert chosen(DEFAULT) == LAB_KERNEL
    assert LAB_KERNEL.is_default


@pytest.mark.parametrize("series", all_series())
def test_a_version_is_known_by_its_name(series: str) -> None:
    assert chosen(series) == KernelChoice(series, series)
    assert str(chosen(series)) == series


def test_an_unknown_version_names_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"There is no kernel '5\.99'.*7\.2, 6\.12, 6\.1"):
        chosen("5.99")


def test_what_is_no_source_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no kernel source"):
        chosen(str(tmp_path / "nothing"))
    (tmp_path / "notes.txt").write_text("no kernel")
    with pytest.raises(UsageError, match="is not a tarball"):
        chosen(str(tmp_path / "notes.txt"))
    (tmp_path / "Makefile").write_text("all:\n\ttrue\n")
    with pytest.raises(UsageError, match="states no version"):
        chosen(str(tmp_path))


def test_a_choice_survives_being_written_into_a_spec(tree: Path) -> None:
    choice = chosen(str(tree))
    assert choice.digest
    assert choice.series == series_of("7.1.3").series
    assert chosen(str(choice)) == choice
    (tree / "Makefile").unlink()  # a worker elsewhere has no such folder
    assert chosen(str(choice)) == choice


def test_a_tarball_a_tree_and_a_revision_say_their_version(clone: Path, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "linux-7.1.3.tar.xz", "w:xz") as archive:
        archive.add(clone, "linux-7.1.3")
    for text, kind in (
        (str(tmp_path / "linux-7.1.3.tar.xz"), OwnTarball),
        (str(clone), OwnTree),
        (f"{clone}@net-next", OwnRevision),
    ):
        source = own_source(text)
        assert isinstance(source, kind)
        assert version_in(source.makefile()) == "7.1.3"
        source.pack(tmp_path / "packed")
        with tarfile.open(tmp_path / "packed") as archive:
            names = {Path(*Path(name).parts[1:]).as_posix() for name in archive.getnames()}
        assert {"Makefile", "net/tcp.c", "net/link"} <= names


def test_a_tree_is_another_when_a_file_is(clone: Path) -> None:
    before = own_source(str(clone)).digest()
    (clone / "net/tcp.o").write_text("what git ignores does not count")
    assert own_source(str(clone)).digest() == before
    (clone / "net/tcp.c").write_text("int udp;\n")
    assert own_source(str(clone)).digest() != before
    assert own_source(f"{clone}@net-next").digest() == own_source(f"{clone}@HEAD").digest()


def test_a_revision_that_is_not_there_is_refused(clone: Path) -> None:
    with pytest.raises(UsageError, match="has no revision 'no-such-branch'"):
        chosen(f"{clone}@no-such-branch")
    git(clone, "rm", "Makefile")
    git(clone, "commit", "--message=no kernel")
    with pytest.raises(UsageError, match="it has no Makefile"):
        chosen(f"{clone}@HEAD")


def test_patches_follow_a_plus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine.patch", "more.patch"):
        Path(name).write_text(name)
    source, patches = ingredients("6.12+mine.patch+more.patch")
    assert source is None
    assert [patch.name for patch in patches] == ["mine.patch", "more.patch"]
    choice = chosen("6.12+mine.patch")
    assert (choice.series, bool(choice.digest)) == ("6.12", True)
    assert kernel_recipe(choice).key != kernel_recipe(chosen("6.12")).key
    with pytest.raises(UsageError, match=r"There is no patch none\.patch"):
        chosen("7.2+none.patch")


def test_a_patch_that_changed_meanwhile_is_not_built(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.patch").write_text("one")
    choice = chosen("7.2+mine.patch")
    Path("mine.patch").write_text("two")
    with pytest.raises(TcplabError, match="has changed since it was chosen"):
        require_unchanged(choice)


def test_a_source_takes_the_patches_of_the_next_older_version() -> None:
    assert series_of("6.12.5").series == "6.12"
    assert series_of("6.1.1").series == "6.1"
    assert series_of("9.0").series == DEFAULT
    for version in ("1.0.9", "5.15.3", "6.14.1"):
        with pytest.raises(UsageError, match=r"no patches for .*6\.1 to 6\.5, 6\.6 to 6\.12"):
            series_of(version)
