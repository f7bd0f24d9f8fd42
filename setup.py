"""Build steps beyond pyproject.toml: the engine, and the names in an installed copy.

A wheel has one name of its own, `tcplab`: the packages are moved below it and their import
statements rewritten, as a vendored library's are. A checkout keeps the packages at the top.
"""

import shutil
import sys
from pathlib import Path
from typing import Any

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build

sys.path.insert(0, str(Path(__file__).parent))
from testbed.builds.cache import PREBUILT
from testbed.builds.engine import LIBRARY, place_engine
from testbed.host import HOME, PACKAGES, as_installed


class BuildBelowOneName(build):
    """A copy of the packages below one name, with the engine and what guests run on."""

    def run(self) -> None:
        super().run()
        place = Path(self.build_lib)
        place_engine(place / "analysis/flows" / LIBRARY)
        shutil.rmtree(place / HOME, ignore_errors=True)
        (place / HOME).mkdir()
        (place / f"{HOME}.py").rename(place / HOME / "__init__.py")
        for name in PACKAGES:
            (place / name).rename(place / HOME / name)
        shutil.copy(place / HOME / "experiments/programs/public/testing.py", place / HOME)
        # The engine is in its place already.
        shutil.copytree(PREBUILT, place / HOME / PREBUILT.name, ignore=lambda *_: ["engine"])
        for module in (place / HOME).rglob("*.py"):
            module.write_text(as_installed(module.read_text()))
        (place / HOME / "py.typed").touch()


class WheelOfOneName(bdist_wheel):
    """Its metadata names what it holds."""

    def write_wheelfile(self, wheelfile_base: str, *arguments: str) -> None:
        super().write_wheelfile(wheelfile_base, *arguments)
        Path(wheelfile_base, "top_level.txt").write_text(f"{HOME}\n")


class CompiledDistribution(Distribution):
    """A distribution with a compiled library, which setuptools does not compile.

    Folders of labs have a key and no __init__, as those that `lab new` makes, so they are added to
    the packages.
    """

    def parse_config_files(self, *arguments: Any, **named: Any) -> None:
        super().parse_config_files(*arguments, **named)
        self.packages += [f"labs.{file.parent.name}" for file in Path("labs").glob("*/lab.toml")]

    def has_ext_modules(self) -> bool:
        return True


setup(
    distclass=CompiledDistribution,
    cmdclass={"build": BuildBelowOneName, "bdist_wheel": WheelOfOneName},
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
