"""Everything is in pyproject.toml except the compiled engine and the names in an installed copy.

The engine is optional: without cargo, or without a network for its crates, the installation goes
on and the plain engine is used. It is compiled for the stable ABI, so that one wheel serves every
CPython from 3.11 on.

A wheel has one name of its own, `tcplab`: the packages are moved below it and their import
statements rewritten, as a vendored library's are. A checkout, also an editable installation of
it, keeps the packages at the top.
"""

import shutil
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build
from setuptools_rust import Binding, RustExtension

sys.path.insert(0, str(Path(__file__).parent))
from testbed.host.naming import HOME, PACKAGES, as_installed

ENGINE = RustExtension(
    "analysis.flows._core",
    path="analysis/flows/core/Cargo.toml",
    binding=Binding.PyO3,
    py_limited_api=True,
    cargo_manifest_args=["--locked"],
    debug=False,
    optional=True,
)


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
    cmdclass={"build": BuildBelowOneName, "bdist_wheel": WheelOfOneName},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
