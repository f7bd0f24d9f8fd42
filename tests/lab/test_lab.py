"""The lab's files, digests and commands, with recipes that build in no time."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from experiments.cli.commands import ClearGroup
from testbed.lab import commands
from testbed.lab import ready as lab_module


@pytest.fixture
def kitchen(oven: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lab of small files in place of kernel, first process and image."""
    recipes = [
        oven.recipe("kernel", "k", "linux", "modules.tar.gz"),
        oven.recipe("init", "i", "init", "confine"),
        oven.recipe("image", "s", "image.squashfs"),
    ]
    monkeypatch.setattr(lab_module, "parts", lambda kernel=None, source=None: recipes)


def command(*arguments: str) -> Result:
    return CliRunner().invoke(
        ClearGroup(commands={"image": commands.commands}), ["image", *arguments]
    )


def test_a_lab_names_its_files_and_digests(kitchen: None) -> None:
    ready = lab_module.lab()
    assert (ready.kernel_release, ready.seccomp, ready.packages) == ("7.2", True, {"iperf": "2.1"})
    assert ready.kernel.read_text() == "k" * 100
    assert sorted(ready.digests) == ["confine", "image", "init", "kernel", "whole"]
    assert ready == lab_module.lab()


def test_whatever_changes_changes_the_whole_digest(kitchen: None, oven: Any, monkeypatch) -> None:
    before = lab_module.lab().digests
    recipes = lab_module.parts()
    other = [*recipes[:2], oven.recipe("image", "t", "image.squashfs")]
    monkeypatch.setattr(lab_module, "parts", lambda kernel=None, source=None: other)
    after = lab_module.lab().digests
    assert after["kernel"] == before["kernel"]
    assert after["whole"] != before["whole"]


def test_build_export_and_import(kitchen: None, tmp_path, monkeypatch) -> None:
    built = command("build")
    assert built.exit_code == 0
    assert command("export", str(tmp_path / "lab.tar")).exit_code == 0
    monkeypatch.setenv("TCPLAB_CACHE", str(tmp_path / "elsewhere"))
    imported = command("import", str(tmp_path / "lab.tar"))
    assert imported.stdout.splitlines()[-1] == built.stdout.splitlines()[-1]
    assert command("show").exit_code == 0


def test_show_builds_nothing(kitchen: None, oven: Any) -> None:
    shown = command("show")
    assert shown.exit_code == 1
    assert (
        shown.stderr
        == "Error: The lab is not built, or a file of it is damaged. Run `./tcplab image build`.\n"
    )
    assert oven.built == []


def test_a_refused_import_is_one_message(kitchen: None) -> None:
    refused = command("import", __file__)
    assert refused.exit_code == 1
    assert refused.stderr.startswith("Error: ")
    assert len(refused.stderr.splitlines()) == 1


def test_a_source_for_a_kernel_that_is_ready_asks_for_rebuild(
    kitchen: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab_module.lab()
    monkeypatch.setattr(lab_module, "kernel_part", lambda: lab_module.parts()[0])
    refused = command("build", "--source", str(tmp_path / "linux.tar.xz"))
    assert refused.exit_code == 1
    assert "Add --rebuild" in refused.stderr
