"""Code and data of a job as one Python archive, and fingerprints of our code.

The same content gives the same bytes, whatever the times and owners of files. A fingerprint is a
SHA-256 of modules and all that they import: of what travels into guests, measures rows, reads
captures, measures a lab's references, and runs on workers.
"""

import ast
import hashlib
import io
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import IO, Any

from testbed.guest.job_entry import ATTACHED
from testbed.host import CODE, PACKAGES, as_in_checkout
from topologies.disciplines import GROUP as DISCIPLINES
from topologies.plugins import registered

_ONE_PARSER = Lock()


def parsed(source: str | bytes) -> ast.Module:
    """Return a module's tree, in one thread at a time (python/cpython#106905, before 3.11.5)."""
    with _ONE_PARSER:
        return ast.parse(source)


_OURS = re.compile(rf"({'|'.join(PACKAGES)})(\.\w+)*")
_DATA = (".csv", ".txt")
_FILE = re.compile(r"\w{1,50}\.\w{1,10}")
_MODULE = re.compile(r"\w+(\.\w+)*")


@cache
def fingerprint(*modules: str) -> str:
    """Return the SHA-256 of modules and all of tcplab that they import; without names, of all code.

    Computed once in a process, of the code as loaded. Raises ModuleNotFoundError.
    """
    return fingerprint_of(_contents(files_of(*modules) if modules else _all_files()))


def fingerprint_of(contents: Mapping[str, bytes]) -> str:
    """Return the SHA-256 of files, by their names."""
    digest = hashlib.sha256()
    for name, content in sorted(contents.items()):
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


def _contents(files: Iterable[Path]) -> dict[str, bytes]:
    """Return contents by names as in a checkout, so that an installed copy is alike."""
    contents = {file.relative_to(CODE).as_posix(): file.read_bytes() for file in files}
    modules = {name for name in contents if name.endswith(".py")}
    return contents | {name: as_in_checkout(contents[name]) for name in modules}


@cache
def files_of(*modules: str) -> tuple[Path, ...]:
    """Return the files of modules and of all of tcplab that they import, sorted by path.

    Texts that name a module count as imports, and so does a file next to it that it names, such as
    a table. What the packages around a module import is not followed. Raises ModuleNotFoundError.
    """
    if missing := [name for name in modules if not _own_files(name)]:
        raise ModuleNotFoundError(f"There is no module {missing[0][:100]}.")
    files: set[Path] = set()
    waiting, followed = list(modules), set[str]()
    while waiting:
        name = waiting.pop()
        if name in followed:
            continue
        followed.add(name)
        own = _own_files(name)
        around = {parent for file in own for parent in file.parents if parent.is_relative_to(CODE)}
        packages = (parent / "__init__.py" for parent in around if parent != CODE)
        files.update(own, filter(Path.is_file, packages))
        for file in own:
            names = _names_in(file) if file.suffix == ".py" else set[str]()
            waiting += filter(_OURS.fullmatch, names)
            beside = (file.with_name(name) for name in names if _FILE.fullmatch(name))
            files.update(filter(Path.is_file, beside))
    return tuple(sorted(files))


def _own_files(name: str) -> list[Path]:
    """Return a module's source and data of its name, or the library of a compiled one."""
    if not _MODULE.fullmatch(name):
        return []
    place = CODE.joinpath(*name.split("."))
    sources = filter(Path.is_file, (place.with_suffix(".py"), place / "__init__.py"))
    if source := next(sources, None):
        return [source, *filter(Path.is_file, map(place.with_suffix, _DATA))]
    # The Rust sources of core/, or in an installed copy a library such as _core.abi3.so.
    rust = sorted((place.parent / place.name.lstrip("_") / "src").glob("*.rs"))
    return rust or sorted(place.parent.glob(f"{place.name}.*so"))


def _names_in(file: Path) -> set[str]:
    """Return the modules that a file imports, and the texts that may name a module or a file."""
    tree = parsed(as_in_checkout(file.read_bytes()))
    names = {name for node in ast.walk(tree) for name in _names(node)}
    package = ".".join(file.relative_to(CODE).parent.parts)  # f"{__package__}._core"
    return names | {package + name for name in names if name.startswith(".")}


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        modules = [name for name in inner if _OURS.fullmatch(name) and _own_files(name)]
        return modules if len(modules) == len(inner) else [node.module, *modules]
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
        return [node.value]
    return []


def _all_files() -> list[Path]:
    """Return every module of all packages, their tables and the engine's sources or library."""
    files: list[Path] = []
    for folder in (CODE / package for package in PACKAGES):
        files += [*folder.glob("*/core/src/*.rs")] or [*folder.rglob("*.so")]
        files += [file for ending in (".py", *_DATA) for file in folder.rglob(f"*{ending}")]
    return sorted(files)


_CODE = (
    "topologies/*.py",
    "topologies/disciplines/*.py",
    "testbed/__init__.py",
    "testbed/guest/*.py",
    "experiments/__init__.py",
    "experiments/[!_]*.py",
    "experiments/flows/*.py",
)
"""What travels into guests, which is more than most jobs import."""
_START = "import sys\nfrom testbed.guest.job_entry import main\nsys.exit(main(sys.argv[1:]))\n"


def job_archive(
    module: str, data: Any, files: Mapping[str, bytes] | None = None, **facts: int
) -> bytes:
    """Return a zip that Python runs (zipapp): it calls `perform(data, job)` of `module`."""
    order: dict[str, Any] = {"module": module, "data": data, **facts}
    own = Path(*module.split(".")).with_suffix(".py")
    members = _packages_of(own) | _code()
    if own.as_posix() not in members:  # a study's code travels always
        members |= _contents(file for file in files_of(module) if file.suffix == ".py")
    for name, plugin in registered(DISCIPLINES).items():
        order.setdefault("disciplines", {})[name] = plugin.entry.value
        other = Path(*plugin.entry.module.split(".")).with_suffix(".py")
        members |= _packages_of(other) | {other.as_posix(): plugin.source()}
    members["job.json"] = json.dumps(order, sort_keys=True).encode()
    members |= {ATTACHED + name: content for name, content in (files or {}).items()}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(members):
            archive.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), members[name])
    return buffer.getvalue()


def _packages_of(module: Path) -> dict[str, bytes]:
    return {(parent / "__init__.py").as_posix(): b"" for parent in module.parents if parent.name}


@cache
def code_digest() -> str:
    """Return the fingerprint of the code that travels: another may send packets at other times."""
    return fingerprint_of(_code())


def travelling_modules() -> list[str]:
    """Return the names of the modules that travel."""
    names = sorted(name.removesuffix(".py") for name in _code() if name != "__main__.py")
    return [name.replace("/", ".").removesuffix(".__init__") for name in names]


@cache
def _code() -> dict[str, bytes]:
    """Read once: an edit of the code while a sweep goes on moves no packets of its points."""
    files = sorted(file for pattern in _CODE for file in CODE.glob(pattern))
    return _contents(files) | {"__main__.py": _START.encode()}


@contextmanager
def job_file(archive: bytes) -> Iterator[IO[bytes]]:
    """Provide the archive as an open file without a name, which a kill does not leave behind."""
    with tempfile.TemporaryFile() as file:
        os.fchmod(file.fileno(), 0o444)  # a guest may run as another user
        file.write(archive)
        file.flush()
        file.seek(0)
        yield file
