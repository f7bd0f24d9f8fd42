"""The comparison of two kernels in a folder: comparison.json as frozen records."""

from pathlib import Path

from msgspec import Struct

from analysis.records.json_reader import read_main
from analysis.records.manifest import Provenance


class ComparedKernel(Struct, frozen=True):
    """One of the two kernels."""

    name: str = "unnamed"
    release: str = ""
    digest: str = ""


class KernelFigure(Struct, frozen=True):
    """A figure on both kernels: the known values, and how the second differs over `count` seeds."""

    of: str = ""
    title: str = ""
    unit: str = ""
    old: tuple[float, ...] = ()
    new: tuple[float, ...] = ()
    scale: str = "ratio"
    count: int = 0
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    p: float = 1.0
    verdict: str = "not shown to differ"


class ComparedCase(Struct, frozen=True):
    """A case of the standing set with its figures."""

    name: str = "unnamed"
    sentence: str = ""
    figures: tuple[KernelFigure, ...] = ()


class ScriptsOnBoth(Struct, frozen=True):
    """The kernels' own packetdrill scripts: how many were run, and which pass on one alone."""

    cases: int = 0
    only_old: tuple[str, ...] = ()
    only_new: tuple[str, ...] = ()
    neither: tuple[str, ...] = ()


class ComparisonFile(Provenance, frozen=True):
    """comparison.json; `least` is the share by which figures must differ to count."""

    kernels: tuple[ComparedKernel, ...] = (ComparedKernel(), ComparedKernel())
    seeds: tuple[int, ...] = ()
    least: float = 0.01
    cases: tuple[ComparedCase, ...] = ()
    scripts: ScriptsOnBoth = ScriptsOnBoth()
    left_out: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def figures(self) -> list[KernelFigure]:
        return [figure for case in self.cases for figure in case.figures]


def read_comparison(path: Path) -> ComparisonFile:
    """Return the comparison in `path`.

    Raises UsageError if there is none, TcplabError if it cannot be used.
    """
    command = "./tcplab kernel compare"
    return read_main(ComparisonFile, path, "comparison.json", command)
