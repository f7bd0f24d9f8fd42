"""Installed packages register studies, metrics and the like as entry points."""

from pathlib import Path

import pytest

from analysis.measures import metrics
from experiments.sweep.definition import SweepDefinition
from topologies.errors import UsageError
from topologies.plugins import registered

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


def test_a_plugin_is_found_by_name_and_imported_when_it_is_loaded(tmp_path, monkeypatch) -> None:
    install(tmp_path, "alpha", "seven = alpha_code:SEVEN", "SEVEN = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    plugin = registered(GROUP)["seven"]
    assert (plugin.package, plugin.version, plugin.load()) == ("alpha", "1.2", 7)
    assert registered("tcplab.nothing") == {}


def test_a_broken_plugin_names_its_package_and_the_remedy(tmp_path, monkeypatch) -> None:
    install(tmp_path, "beta", "bad = beta_code:MISSING", "raise KeyError('x')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(UsageError, match=r"package beta 1[.]2 cannot be used: Key") as error:
        registered(GROUP)["bad"].load()
    assert error.value.remedy == "Update or remove it: pip uninstall beta"


def test_two_packages_cannot_register_one_name(tmp_path, monkeypatch) -> None:
    for package in ("gamma", "delta"):
        install(tmp_path / package, package, f"same = {package}_code:VALUE")
        monkeypatch.syspath_prepend(tmp_path / package)
    with pytest.raises(UsageError, match="registers that name too"):
        registered(GROUP)


def test_a_package_adds_a_column_to_every_sweep(tmp_path, monkeypatch) -> None:
    code = (
        "from analysis.measures.metrics import Metric\n"
        "BYTES = Metric('bytes_sent', 'bytes', 'Bytes sent', 'sockets.jsonl',"
        " lambda flow: flow.samples[-1].bytes_sent, column=True)\n"
    )
    install(tmp_path, "epsilon", "bytes_sent = epsilon_code:BYTES", code)
    entries = tmp_path / "epsilon-1.2.dist-info/entry_points.txt"
    entries.write_text(entries.read_text().replace(GROUP, metrics.GROUP))
    monkeypatch.syspath_prepend(tmp_path)
    caches = (metrics.columns, metrics.measures, metrics._by_key)
    for cached in caches:
        cached.cache_clear()
    try:
        assert list(metrics.columns())[-1] == "bytes_sent"
        assert metrics.metric("metric.bytes_sent").title == "Bytes sent"
        assert SweepDefinition("sack", metric="bytes_sent").metric == "bytes_sent"
    finally:
        for cached in (registered, *caches):
            cached.cache_clear()
