"""Installed packages register studies, metrics and the like as entry points."""

from __future__ import annotations

from pathlib import Path

import pytest

from topologies.foundation.errors import UsageError
from topologies.foundation.plugins import registered

GROUP = "tcplab.tests"


@pytest.fixture(autouse=True)
def _every_test_looks_again() -> None:
    registered.cache_clear()


def install(folder: Path, package: str, entries: str, code: str = "") -> None:
    info = folder / f"{package}-1.2.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(f"[{GROUP}]\n{entries}\n")
    (folder / f"{package}_code.py").write_text(code)


def test_a_plugin_is_found_by_name_and_imported_when_it_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "alpha", "seven = alpha_code:SEVEN", "SEVEN = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugin = registered(GROUP)["seven"]
    assert (plugin.package, plugin.version, plugin.load()) == ("alpha", "1.2", 7)
    assert registered("tcplab.nothing") == {}


def test_a_broken_plugin_names_its_package_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "beta", "bad = beta_code:MISSING", "raise KeyError('x')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=r"package beta 1[.]2 cannot be used: Key") as error:
        registered(GROUP)["bad"].load()
    assert error.value.remedy == "Update or remove it: pip uninstall beta"


def test_two_packages_cannot_register_one_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in ("gamma", "delta"):
        install(tmp_path / package, package, f"same = {package}_code:VALUE")
        monkeypatch.syspath_prepend(tmp_path / package)
    with pytest.raises(UsageError, match="registers that name too"):
        registered(GROUP)
