"""The code and data of a job as one Python archive, byte for byte the same for the same content.

File times and owners would be a way for the host to move packets in the guest.
"""

from __future__ import annotations

import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any

from testbed.guest.job_entry import ATTACHED
from testbed.host.code import CODE
from testbed.host.naming import as_in_checkout
from testbed.jobs.fingerprint import fingerprint_of

_ROOT = CODE
_CODE = (
    "topologies/*.py",
    "topologies/foundation/*.py",
    "testbed/__init__.py",
    "testbed/guest/*.py",
    "experiments/__init__.py",
    "experiments/spec.py",
    "experiments/procedure.py",
    "experiments/transfers.py",
    "experiments/proof.py",
)
"""What travels into guests, which is more than most jobs import."""
_START = "import sys\nfrom testbed.guest.job_entry import main\nsys.exit(main(sys.argv[1:]))\n"


def job_archive(
    module: str, data: Any, files: Mapping[str, bytes] | None = None, **kernel: bool
) -> bytes:
    """A zip that Python runs (zipapp): it calls `perform(data, job)` of `module` where it starts.

    The job finds `files` by their names as `job.attached(name)`. `kernel` is what its kernel has or
    lacks (testbed.guest.job_entry).
    """
    job = json.dumps({"module": module, "data": data, **kernel}, sort_keys=True)
    own = Path(*module.split(".")).with_suffix(".py")
    packages = {(parent / "__init__.py").as_posix(): b"" for parent in own.parents if parent.name}
    members = packages | _code() | {own.as_posix(): _source(own), "job.json": job.encode()}
    return _zipped(members | {ATTACHED + name: content for name, content in (files or {}).items()})


@cache
def code_digest() -> str:
    """The fingerprint of the code that travels: another may send packets at other times."""
    return fingerprint_of(_code())


def _travelling_files() -> tuple[Path, ...]:
    """The modules that every archive holds."""
    return tuple(sorted(file for pattern in _CODE for file in _ROOT.glob(pattern)))


def travelling_modules() -> list[str]:
    """Their names in a guest."""
    names = (file.relative_to(_ROOT).with_suffix("").parts for file in _travelling_files())
    return [".".join(name).removesuffix(".__init__") for name in names]


@cache
def _code() -> dict[str, bytes]:
    """Read once: an edit of the code while a sweep goes on moves no packets of its points."""
    names = (file.relative_to(_ROOT) for file in _travelling_files())
    return {name.as_posix(): _source(name) for name in names} | {"__main__.py": _START.encode()}


def _source(name: Path) -> bytes:
    """The module's names in a guest are those of a checkout, wherever it comes from."""
    return as_in_checkout((_ROOT / name).read_bytes())


def _zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), members[name])
    return buffer.getvalue()


@contextmanager
def job_file(archive: bytes) -> Iterator[IO[bytes]]:
    """The archive as an open file without a name: nothing stays behind when we are killed."""
    with tempfile.TemporaryFile() as file:
        os.fchmod(file.fileno(), 0o444)  # a guest may run as another user
        file.write(archive)
        file.flush()
        file.seek(0)
        yield file
