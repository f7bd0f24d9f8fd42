"""A full disk, and a compiler's error, are not taken for a missing network."""

from __future__ import annotations

import errno
import os
import tempfile
import urllib.request
from pathlib import Path

import pytest

from testbed.builds import engine
from testbed.lab.kernel import source
from topologies.errors import CommandError, TcplabError

FULL = os.strerror(errno.ENOSPC)


@pytest.mark.parametrize(
    ("printed", "remedy"),
    [
        (f"error: failed to write: {FULL} (os error 28)", "free some space"),
        ("error[E0308]: mismatched types", "Take a release"),
        ("warning: spurious network error", "registry of crates"),
    ],
)
def test_cargos_failures_have_their_remedies(printed: str, remedy: str) -> None:
    command = ["sh", "-c", f"echo '{printed}'; exit 1"]
    with tempfile.TemporaryFile("w+") as log, pytest.raises(CommandError) as raised:
        engine._run(command, log, os.environ)
    assert remedy in raised.value.remedy
    assert ("registry" in raised.value.remedy) == ("network" in printed)


def test_a_download_that_fills_the_disk_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise OSError(errno.ENOSPC, FULL)

    monkeypatch.setattr(urllib.request, "urlopen", full)
    with pytest.raises(TcplabError, match="free some space"):
        source.download("https://localhost/linux.tar.xz", tmp_path / "linux", lambda _share: None)
