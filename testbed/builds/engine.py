"""The engine that reads captures, compiled by cargo for the stable ABI (every CPython from 3.11).

The standard library only: setup.py uses it.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from testbed.builds import Workshop, cache, shown
from testbed.builds.cache import Facts, Recipe
from testbed.host import CODE
from testbed.host.packages import ENGINE, PATH, install_missing
from topologies.errors import CommandError, TcplabError

CORE = CODE / "analysis/flows/core"
LIBRARY = "_core.abi3.so"
_NO_NETWORK = re.compile(r"(?i)network|download|resolve host|unable to update")
_COMPILED = "release/lib_core.so"
COMES_FOR = "linux x86_64"  # the machines whose engine comes with the code; others compile one
SPARSE_INDEX = (1, 68)  # Cargo since this version asks its registry for the needed crates alone


def engine_recipe(released: bool = False) -> Recipe:
    """Return the recipe of a checkout's engine, `released` as it comes with the code."""
    sources = (CORE / "Cargo.toml", CORE / "Cargo.lock", *sorted((CORE / "src").glob("*.rs")))
    machine = f"{sys.platform} {platform.machine()}"
    variant = "" if machine == COMES_FOR else machine
    return Recipe("engine", sources, (LIBRARY,), lambda work: build_engine(work, released), variant)


def engine_file() -> Path:
    """Return a checkout's engine, compiled if need be. Raises TcplabError, CommandError."""
    with shown(sys.stderr) as report:
        return cache.ready(engine_recipe(), report).folder / LIBRARY


def build_engine(workshop: Workshop, released: bool) -> Facts:
    """Leave the library in the workshop. Raises TcplabError, CommandError."""
    workshop.report.step("Compiling the engine that reads captures (once, about a minute)")
    # The next version of the engine uses compiled crates again.
    objects = {"CARGO_TARGET_DIR": str(cache.folder() / "cargo"), **os.environ}
    if released:
        objects = {**released_environment(CODE), "CARGO_TARGET_DIR": str(workshop.folder / "cargo")}
    with workshop.log.open("w+") as log:
        compile_engine(workshop.folder / LIBRARY, log, objects)
    return {}


def released_environment(source: Path) -> dict[str, str]:
    """Return variables by which cargo optimizes most, and leaves no path of this machine."""
    crates = os.environ.get("CARGO_HOME", str(Path("~/.cargo").expanduser()))
    moved = {str(source): "/tcplab", crates: "/cargo"}
    flags = [f"--remap-path-prefix={old}={new}" for old, new in moved.items()]
    c_flags = " ".join(f"-ffile-prefix-map={old}={new}" for old, new in moved.items())
    profile = {"CARGO_PROFILE_RELEASE_LTO": "fat", "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "1"}
    return profile | {"RUSTFLAGS": " ".join(flags), "CFLAGS": c_flags}


def place_engine(library: Path) -> None:
    """Leave the engine that comes with the code, or a compiled one. Raises TcplabError."""
    recipe = engine_recipe()
    if cache.prebuilt_manifest(recipe.name, recipe.key):
        with tempfile.TemporaryDirectory() as folder:
            cache.unpack_prebuilt(recipe.name, recipe.outputs, Path(folder))
            cache.verify(recipe, Path(folder))
            shutil.copy(Path(folder) / LIBRARY, library)
        return
    with tempfile.TemporaryFile("w+") as log:
        compile_engine(library, log, {})


def compile_engine(library: Path, log: IO[str], environment: Mapping[str, str]) -> None:
    """Compile the sources of this folder to `library`. Raises TcplabError, CommandError."""
    rustup = Path(os.environ.get("CARGO_HOME") or Path("~/.cargo").expanduser()) / "bin"
    places = f"{os.environ.get('PATH', '')}:{rustup}:{PATH}"
    if not shutil.which("cargo", path=places):
        install_missing(ENGINE)
    if not (cargo := shutil.which("cargo", path=places)):
        problem = "The engine is compiled by cargo, which is missing."
        raise TcplabError(problem, "Install Rust's cargo.")
    variables = {**os.environ, "PYO3_PYTHON": sys.executable, **environment}
    target = Path(variables.get("CARGO_TARGET_DIR", CORE / "target"))
    manifest = ["--locked", "--manifest-path", str(CORE / "Cargo.toml")]
    offline = _fetch_as_later_ones_do(cargo, manifest, target / "crates", log, variables)
    _run([cargo, "build", "--release", "--lib", *manifest, *offline], log, variables)
    shutil.copyfile(target / _COMPILED, library)
    library.chmod(0o755)


def _fetch_as_later_ones_do(
    cargo: str, manifest: list[str], crates: Path, log: IO[str], variables: Mapping[str, str]
) -> list[str]:
    """Fetch the crates for an old cargo; return the options with which it compiles them.

    Debian 12's would fetch the index of all crates, and knows the sparse one for `vendor` only.
    """
    version = subprocess.run([cargo, "--version"], capture_output=True, text=True, check=False)
    numbers = re.search(r"(\d+)\.(\d+)", version.stdout)
    if not numbers or tuple(map(int, numbers.groups())) >= SPARSE_INDEX:
        return []
    unfinished = {"RUSTC_BOOTSTRAP": "1", "CARGO_UNSTABLE_SPARSE_REGISTRY": "true"}
    command = [cargo, "vendor", "--quiet", *manifest, "--versioned-dirs", str(crates)]
    _run(command, log, {**variables, **unfinished})
    taken = ['crates-io.replace-with="crates"', f'crates.directory="{crates.resolve()}"']
    return ["--offline", *(word for line in taken for word in ("--config", f"source.{line}"))]


def _run(command: list[str], log: IO[str], variables: Mapping[str, str]) -> None:
    """Run cargo with its messages in the log. Raises CommandError."""
    done = subprocess.run(
        command, env=variables, stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        log.seek(0)
        printed, remedy = log.read(), "Take a release, which has the engine compiled."
        if _NO_NETWORK.search(printed):
            remedy = f"Check that cargo reaches its registry of crates. {remedy}"
        raise CommandError(" ".join(command), done.returncode, printed, remedy)
