"""A job that compiles, with the guest's own Python, what the jobs after it import."""

import marshal
import site
import sys
from importlib import import_module
from importlib.util import MAGIC_NUMBER
from types import CodeType
from typing import Any
from zipimport import zipimporter

from testbed.guest import compiled_start
from testbed.guest.compiled_start import ARCHIVE, Row
from testbed.guest.job_entry import JobContext

COMPILED = "code.pyc"  # what the job delivers: a program that runs the job of a command line
# A file of code that is not checked against its source (PEP 552).
_HEADER = MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8)
_PROGRAM = """
from marshal import loads
start = {{"__name__": "compiled_start"}}
exec(loads({start!r}), start)
start["begin"]({modules!r}, {size}, {path!r})
"""


def perform(names: Any, job: JobContext) -> None:
    """Import the modules `names`, and deliver the code of all that are then there."""
    site.main()  # guests start Python without it; Mininet is in its folder
    for name in names:
        import_module(name)
    rows, codes = _rows_and_codes()
    program = _PROGRAM.format(
        start=marshal.dumps(_own_code(compiled_start.__name__)),
        modules=rows,
        size=len(codes),
        path=[*(entry for entry in sys.path if entry != sys.argv[0]), ARCHIVE],
    )
    code = compile(program, COMPILED, "exec", dont_inherit=True)
    (job.work / COMPILED).write_bytes(_HEADER + marshal.dumps(code) + codes)
    job.deliver(COMPILED)


def _rows_and_codes() -> tuple[dict[str, Row], bytes]:
    """Return what `compiled_start` needs of each module that a file holds as Python."""
    rows: dict[str, Row] = {}
    codes = bytearray()
    for name, module in sorted(sys.modules.items()):
        spec = getattr(module, "__spec__", None)  # typing.io is a class
        if name == "__main__" or spec is None or spec.origin in (None, "built-in", "frozen"):
            continue
        is_ours = isinstance(spec.loader, zipimporter)
        code = _own_code(name) if is_ours else spec.loader.get_code(name)
        if code is None:  # a library
            continue
        start = len(codes)
        codes += marshal.dumps(code)
        folders = [_place(name)] if is_ours else list(spec.submodule_search_locations or [])
        is_package = spec.submodule_search_locations is not None
        rows[name] = (start, len(codes), code.co_filename, folders if is_package else None)
    return rows, bytes(codes)


def _place(name: str) -> str:
    """Return a module's path in a job's archive, without its ending."""
    return f"{ARCHIVE}/{name.replace('.', '/')}"


def _own_code(name: str) -> CodeType:
    """Return the code of a module of tcplab, with the file of its text in a job's archive."""
    source = zipimporter(_place(name).rpartition("/")[0]).get_source(name)
    ending = "/__init__.py" if hasattr(sys.modules[name], "__path__") else ".py"
    return compile(source or "", _place(name) + ending, "exec", dont_inherit=True)
