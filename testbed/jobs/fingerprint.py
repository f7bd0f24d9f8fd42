"""What code something was made with, as one SHA-256 over the files of our modules.

The same function tells what travels into guests, what measures rows, what reads captures, what a
lab's references are measured with, and what a worker runs: its caller names the modules at which to
start, and imports lead to the rest. So there is no list of files that could miss one.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from testbed.host.code import CODE
from testbed.host.naming import PACKAGES, as_in_checkout
from testbed.host.syntax import parsed

_OURS = re.compile(rf"({'|'.join(PACKAGES)})(\.\w+)*")
_DATA = (".csv", ".txt")
_FILE = re.compile(r"\w{1,50}\.\w{1,10}")
_MODULE = re.compile(r"\w+(\.\w+)*")


@cache
def fingerprint(*modules: str) -> str:
    """The SHA-256 of these modules and all of ours that they import; without a name, of all code.

    Computed once in a process: what counts is the code that was loaded. Raises ModuleNotFoundError.
    """
    files = files_of(*modules) if modules else _all_files()
    return fingerprint_of({file.relative_to(CODE).as_posix(): _content(file) for file in files})


def fingerprint_of(contents: Mapping[str, bytes]) -> str:
    """The SHA-256 of files, by their names."""
    digest = hashlib.sha256()
    for name, content in sorted(contents.items()):
        digest.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return digest.hexdigest()


def _content(file: Path) -> bytes:
    """A checkout and an installed copy of the same code are alike."""
    content = file.read_bytes()
    return as_in_checkout(content) if file.suffix == ".py" else content


@cache
def files_of(*modules: str) -> tuple[Path, ...]:
    """The files of these modules and of all of ours that they import, in the order of their paths.

    A module that is named as a text, to be imported when it is needed, counts as imported, and so
    does a file beside a module that it names, such as a table to be read. The packages around a
    module are files of it too, but what they import for others is not followed.
    Raises ModuleNotFoundError for a name that leads to no file.
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
        files.update(own, _packages_around(own))
        for file in own:
            names = _names_in(file) if file.suffix == ".py" else set[str]()
            waiting += filter(_OURS.fullmatch, names)
            files.update(file.with_name(name) for name in names if _is_beside(file, name))
    return tuple(sorted(files))


def _own_files(name: str) -> list[Path]:
    """A module's source and its data, or the library of a compiled one.

    Data that a module reads has the module's name. None if there is no such module.
    """
    if not _MODULE.fullmatch(name):
        return []
    place = CODE.joinpath(*name.split("."))
    sources = [file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()]
    data = [file for ending in _DATA if (file := place.with_suffix(ending)).is_file()]
    return [*sources[:1], *data] if sources else _compiled(place)


def _compiled(place: Path) -> list[Path]:
    """A library such as _core.abi3.so; if it is not built, the Rust sources of core/ instead."""
    libraries = sorted(place.parent.glob(f"{place.name}.*so"))
    return libraries or sorted((place.parent / place.name.lstrip("_") / "src").glob("*.rs"))


def _packages_around(files: list[Path]) -> Iterator[Path]:
    for folder in {parent for file in files for parent in file.relative_to(CODE).parents}:
        if folder.name and (CODE / folder / "__init__.py").is_file():
            yield CODE / folder / "__init__.py"


def _is_beside(file: Path, name: str) -> bool:
    return bool(_FILE.fullmatch(name)) and file.with_name(name).is_file()


def _names_in(file: Path) -> set[str]:
    """The modules that a file imports, and the texts that may name a module or a file."""
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
    """Every module of all packages, their tables and the compiled engine."""
    files: list[Path] = []
    for folder in (CODE / package for package in PACKAGES):
        compiled = [*folder.rglob("*.so")] or [*folder.glob("*/core/src/*.rs")]
        read = [file for ending in (".py", *_DATA) for file in folder.rglob(f"*{ending}")]
        files += [*read, *compiled]
    return sorted(files)
