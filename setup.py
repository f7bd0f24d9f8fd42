"""Build steps beyond pyproject.toml: the engine, and the names in an installed copy.

The engine is compiled for the stable ABI, so that one wheel serves every CPython from 3.11 on.

A wheel has one name of its own, `tcplab`: the packages are moved below it and their import
statements rewritten, as a vendored library's are. A checkout, also an editable installation of
it, keeps the packages at the top.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build
from setuptools_rust import Binding, RustExtension, build_rust

sys.path.insert(0, str(Path(__file__).parent))
from testbed.host.naming import HOME, PACKAGES, as_installed

ENGINE = RustExtension(
    "analysis.flows._core",
    path="analysis/flows/core/Cargo.toml",
    binding=Binding.PyO3,
    py_limited_api=True,
    cargo_manifest_args=["--locked"],
    debug=False,
)
SPARSE_INDEX = (1, 68)
"""Cargo since this version asks its registry for the needed crates alone."""


class BuildEngine(build_rust):
    """Compile the engine; an old cargo first fetches the crates in the way of later ones.

    Debian 12's would fetch the index of all crates by git. It knows the other way for `vendor`,
    but must not compile with the compiler's unfinished features, hence two steps.
    """

    def run(self) -> None:
        printed = subprocess.run([self.cargo, "--version"], capture_output=True, text=True)
        version = re.search(r"(\d+)\.(\d+)", printed.stdout)
        if version and tuple(map(int, version.groups())) < SPARSE_INDEX:
            core = Path(__file__).parent / "analysis/flows/core"
            crates = Path(os.environ.get("CARGO_TARGET_DIR", core / "target")) / "crates"
            manifest = ["--locked", "--manifest-path", str(core / "Cargo.toml")]
            subprocess.run(
                [self.cargo, "vendor", "--quiet", *manifest, "--versioned-dirs", str(crates)],
                check=True,
                stdout=subprocess.DEVNULL,
                env=os.environ | {"RUSTC_BOOTSTRAP": "1", "CARGO_UNSTABLE_SPARSE_REGISTRY": "true"},
            )
            taken = ['crates-io.replace-with="crates"', f'crates.directory="{crates.resolve()}"']
            options = [word for line in taken for word in ("--config", f"source.{line}")]
            ENGINE.cargo_manifest_args = (*ENGINE.cargo_manifest_args, "--offline", *options)
        super().run()


class BuildBelowOneName(build):
    """What a wheel is made of; an editable installation runs the steps of a build without this."""

    def run(self) -> None:
        super().run()
        place = Path(self.build_lib)
        shutil.rmtree(place / HOME, ignore_errors=True)
        (place / HOME).mkdir()
        (place / f"{HOME}.py").rename(place / HOME / "__init__.py")
        for name in PACKAGES:
            (place / name).rename(place / HOME / name)
        shutil.copy(place / HOME / "experiments/programs/public/testing.py", place / HOME)
        for module in (place / HOME).rglob("*.py"):
            module.write_text(as_installed(module.read_text()))
        (place / HOME / "py.typed").touch()


class WheelOfOneName(bdist_wheel):
    """Its metadata names what it holds."""

    def write_wheelfile(self, wheelfile_base: str, *arguments: str) -> None:
        super().write_wheelfile(wheelfile_base, *arguments)
        Path(wheelfile_base, "top_level.txt").write_text(f"{HOME}\n")


setup(
    rust_extensions=[ENGINE],
    cmdclass={
        "build": BuildBelowOneName,
        "build_rust": BuildEngine,
        "bdist_wheel": WheelOfOneName,
    },
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
