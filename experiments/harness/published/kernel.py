"""Kernels of published studies, and the nearest kernels of the lab."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from experiments.harness.published.points import combinations
from experiments.harness.published.target import Target, published_study
from testbed.lab.kernel.version import all_series, kernel_version
from testbed.lab.ready import built_lab
from topologies.foundation.errors import TcplabError, UsageError


@dataclass(frozen=True)
class PeriodKernelChoice:
    """The kernel of the lab on which a study is repeated as in its time.

    `series` is empty if none is available here; `remarks` give the reason for each nearer kernel
    that cannot be used.
    """

    study: str
    series: str
    remarks: tuple[str, ...]


def period_kernels(targets: Iterable[Target]) -> dict[str, PeriodKernelChoice]:
    """Return for each study that names its kernel the nearest usable one that is built."""
    grouped: dict[str, list[Target]] = {}
    for target in targets:
        if target.is_run and published_study(target.experiment).kernel:
            grouped.setdefault(target.experiment, []).append(target)
    return {name: _nearest(name, group) for name, group in grouped.items()}


def _nearest(study: str, targets: list[Target]) -> PeriodKernelChoice:
    kernel, remarks = published_study(study).kernel, list[str]()
    for series in kernel.nearest if kernel else ():
        if not (obstacle := _obstacle(series, targets)):
            return PeriodKernelChoice(study, series, tuple(remarks))
        remarks.append(obstacle)
    return PeriodKernelChoice(study, "", tuple(remarks))


def _obstacle(series: str, targets: list[Target]) -> str:
    """Return why the study cannot run on that kernel here; empty if it can."""
    if series not in all_series():
        return f"This tcplab does not know Linux {series}."
    try:
        combinations(targets, period_kernels={target.experiment: series for target in targets})
    except UsageError as error:
        return f"Linux {series} is not for this study: {error.problem}"
    try:
        built_lab(series)
    except TcplabError:
        return f"Linux {series} is not built here: {how_to_build(series)}"
    return ""


def how_to_build(series: str) -> str:
    """Return the command that builds a kernel of the lab."""
    kernel = kernel_version(series)
    source = "" if kernel.package else f" --source linux-{kernel.version}.tar.xz"
    return f"./tcplab kernel build {series}{source}"


def told(choices: Iterable[PeriodKernelChoice]) -> Iterator[str]:
    """Yield a line for each kernel that is used, and for each that cannot be."""
    lines: dict[str, list[str]] = {}
    for choice in choices:
        for remark in choice.remarks:
            lines.setdefault(remark, []).append(choice.study)
        taken = f"The kernel of its time is Linux {choice.series}." if choice.series else ""
        lines.setdefault(taken, []).append(choice.study)
    yield from (f"{', '.join(names)}: {line}" for line, names in lines.items() if line)
