"""A full disk, and a compiler's error, are not taken for a missing network."""

import errno
import os
import tempfile

import pytest

from testbed.builds import engine
from topologies.errors import CommandError

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
