"""The code and data of a job as one Python archive, the same byte for byte for the same content.

File times and owners would be a way for the host to move packets in the guest.
"""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import testbed
from testbed.guest.job_entry import ATTACHED
from testbed.jobs.fingerprint import files_of, fingerprint

_ENTRY = "testbed.guest.job_entry"
_START = f"import sys\nfrom {_ENTRY} import main\nsys.exit(main(sys.argv[1:]))\n"


def job_archive(module: str, data: Any, files: Mapping[str, bytes] | None = None) -> bytes:
    """A zip that Python runs (zipapp): it calls `perform(data, room)` of `module` where it starts.

    All modules of ours that `module` imports travel with it. The job finds `files` by their names
    as `room.attached(name)`.
    """
    job = json.dumps({"module": module, "data": data}, sort_keys=True)
    members = _code(module) | {"__main__.py": _START.encode(), "job.json": job.encode()}
    return _zipped(members | {ATTACHED + name: content for name, content in (files or {}).items()})


def code_that_travels(module: str) -> str:
    """The fingerprint of the code in a job's archive: another may send packets at other times."""
    return fingerprint(_ENTRY, module)


def _code(module: str) -> dict[str, bytes]:
    sources = files_of(_ENTRY, module)
    members = {file.relative_to(testbed.CODE).as_posix(): file.read_bytes() for file in sources}
    folders = (Path(name).parents for name in list(members))
    packages = {f"{folder.as_posix()}/__init__.py" for each in folders for folder in each}
    return dict.fromkeys(packages - {"./__init__.py"}, b"") | members


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
        file.write(archive)
        file.flush()
        file.seek(0)
        yield file
