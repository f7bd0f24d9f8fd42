"""Objects of a user's kernel are kept for the next build, whether it compiles or not."""

from pathlib import Path

import pytest

from testbed.builds import BuildReport, Workshop
from testbed.lab.kernel import kernel_version, recipe
from testbed.lab.kernel.choice import LAB_KERNEL, KernelChoice

OWN = KernelChoice("7.2+mine.patch", "7.2", "0123456789abcdef")


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    monkeypatch.setenv("TCPLAB_CACHE", str(tmp_path / "cache"))
    for name in ("cache", "work"):
        (tmp_path / name).mkdir()
    return Workshop(tmp_path / "work", tmp_path / "log", BuildReport())


def test_what_a_build_leaves_is_there_for_the_next(workshop: Workshop) -> None:
    objects = workshop.folder / "ccache"
    with recipe._kept_objects(workshop):
        objects.mkdir()
        (objects / "one").touch()
    assert not objects.exists()
    with pytest.raises(ValueError), recipe._kept_objects(workshop):
        (objects / "another").touch()
        raise ValueError
    assert sorted(file.name for file in recipe.kept_objects().iterdir()) == ["another", "one"]


def test_builds_at_once_leave_the_objects_of_the_first_that_ends(workshop, tmp_path) -> None:
    (tmp_path / "other").mkdir()
    other = Workshop(tmp_path / "other", tmp_path / "log", BuildReport())
    with recipe._kept_objects(workshop), recipe._kept_objects(other):
        for name, each in (("outer", workshop), ("inner", other)):
            (each.folder / "ccache").mkdir()
            (each.folder / "ccache" / name).touch()
    assert [file.name for file in recipe.kept_objects().iterdir()] == ["inner"]


def test_without_ccache_nothing_is_kept(workshop: Workshop) -> None:
    with recipe._kept_objects(workshop):
        pass
    assert not recipe.kept_objects().exists()


@pytest.mark.parametrize("there", [True, False])
def test_only_a_users_kernel_is_compiled_by_ccache(there, workshop, monkeypatch) -> None:
    """The key of the lab's own kernel holds its commands."""
    monkeypatch.setattr(recipe, "present", lambda _tool: there)
    own, ours = (
        recipe.KernelBuild(kernel_version("7.2"), choice, None, workshop).make
        for choice in (OWN, LAB_KERNEL)
    )
    assert ("CC=ccache gcc" in own) == there
    assert ours == ["make", "ARCH=um", *kernel_version("7.2").make, "-C", "tree"]
