"""The first lines that a guest's Python runs: they give it modules that were compiled before.

An import that looks for its file, reads and compiles it takes a millisecond or more of a guest's
start, and a study imports 140 modules. Here all are one file that is read once
(testbed.guest.compiling makes it). Other modules are found as usual. This module
imports only what Python has when it starts; even `__future__` would be a file to be read.
"""

import os
import sys
from _frozen_importlib import ModuleSpec
from marshal import loads

Row = tuple[int, int, str, list[str] | None]
ARCHIVE = "/lab/job.pyz"
"""The job's archive in a guest: it has the sources of our modules, for tracebacks."""


class CompiledModules:
    """Finds and loads modules by name (importlib.abc.MetaPathFinder and Loader).

    Of each module it knows where its marshalled code is in `codes`, its file, and if it is a
    package, the folders in which others of it are looked for.
    """

    def __init__(self, modules: "dict[str, Row]", codes: bytes) -> None:
        self._modules, self._codes = modules, memoryview(codes)

    def find_spec(self, name: str, *_where: object) -> ModuleSpec | None:
        """Return where the module comes from; None for one that was not compiled before."""
        if name not in self._modules:
            return None
        _start, _end, file, folders = self._modules[name]
        spec = ModuleSpec(name, self, origin=file)  # type: ignore[arg-type]
        spec.submodule_search_locations = folders
        spec.has_location = True
        return spec

    def create_module(self, _spec: ModuleSpec) -> None:
        """The usual kind."""

    def exec_module(self, module: object) -> None:
        start, end, _file, _folders = self._modules[module.__name__]  # type: ignore[attr-defined]
        exec(loads(self._codes[start:end]), vars(module))

    def get_source(self, name: str) -> str | None:
        """Return the text of a module of tcplab (linecache); Python's are files."""
        from zipimport import zipimporter

        folder, _, _file = self._modules[name][2].rpartition("/")
        return zipimporter(folder).get_source(name) if folder.startswith(ARCHIVE) else None


def begin(modules: "dict[str, Row]", size: int, path: list[str]) -> None:
    """Run the job that the command line names.

    The codes of the modules are the last `size` bytes of the program; `path` is for modules that
    are not among these.
    """
    with open(sys.argv[0], "rb", buffering=0) as program:
        program.seek(-size, os.SEEK_END)
        codes = program.read(size)
    sys.path[:] = path
    sys.meta_path.insert(0, CompiledModules(modules, codes))
    from testbed.guest.job_entry import main

    os._exit(main(sys.argv[1:]))  # the guest ends now: to take Python down is in vain
