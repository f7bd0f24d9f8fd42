"""The first lines that a guest's Python runs: they provide modules that were compiled before.

A usual import takes a millisecond or more of a guest's start, and a study imports 140 modules. This
module imports only what Python has when it starts; even `__future__` would be a file.
"""

import os
import sys
from _frozen_importlib import ModuleSpec
from marshal import loads

Row = tuple[int, int, str, list[str] | None]
ARCHIVE = "/lab/job.pyz"
"""The job's archive in a guest: it has the sources of our modules, for tracebacks."""


class CompiledModules:
    """A finder and loader of modules by name (importlib.abc.MetaPathFinder and Loader).

    A row has where a module's marshalled code is in `codes`, its file, and a package's folders.
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
    """Run the job of the command line; the program ends in `size` bytes of codes of modules."""
    with open(sys.argv[0], "rb", buffering=0) as program:
        program.seek(-size, os.SEEK_END)
        codes = program.read(size)
    sys.path[:] = path
    sys.meta_path.insert(0, CompiledModules(modules, codes))
    from testbed.guest.job_entry import main

    os._exit(main(sys.argv[1:]))  # the guest ends now: to take Python down is in vain
