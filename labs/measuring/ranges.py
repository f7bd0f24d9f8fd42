"""A lab's runs for any variant: an instructor's key, and whether all ranges show the lesson."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from experiments.run.session import ready_lab
from experiments.study.grid import Combination
from experiments.sweep.point import Point
from experiments.sweep.run import runner_for, watching
from experiments.sweep.store import results
from labs.definition.answers import OwnParts, examples_of
from labs.definition.assignment import SELF_STUDY, Course, Variant, nominal_variant
from labs.definition.forecast import HiddenNetwork, TestedProgram
from labs.definition.key import Key, key_module
from labs.definition.runs import combination_of, example_module, seeds_of, variables_of
from labs.definition.spec import LabSpec
from labs.measuring.measures import MeasuredRun
from labs.measuring.references import HiddenResults, HiddenRuns, References
from testbed.host.scratch import scratch
from topologies.errors import TcplabError

Values = tuple[tuple[str, str], ...]  # a value for each range, by name


@dataclass(frozen=True)
class VariantRuns:
    """A variant that was run: its runs by name, or the problem that there was."""

    variant: Variant
    runs: dict[str, MeasuredRun]
    problem: str = ""

    def key(self, lab: LabSpec) -> Key:
        """Return the answers. Raises TcplabError if the runs do not tell."""
        if self.problem:
            raise TcplabError(self.problem, "Look at it with ./tcplab run.")
        try:
            key: Key = key_module(lab.name).key(self.runs, variables_of(lab, self.variant))
        except TcplabError:
            raise
        except (KeyError, ZeroDivisionError) as error:
            problem = f"The key cannot be computed: {error!r}."
            raise TcplabError(problem, "Correct the lab's key.") from None
        asked = {question.id for question in lab.questions}
        if unasked := sorted({*key.numbers, *key.choices, *key.frames} - asked):
            problem = f"The key answers '{unasked[0]}', which lab.toml does not ask."
            raise TcplabError(problem, "Correct one of them.")
        return key


@dataclass(frozen=True)
class LessonResult:
    variant: Variant
    lesson: bool
    problem: str = ""


@contextmanager
def _references(
    lab: LabSpec, runs: Iterable[Combination], out: Path, workers: int | None
) -> Iterator[References]:
    specs = [run.spec for run in runs]
    with results(out) as memory, watching(lab.name) as watch:
        ready = ready_lab(spec.kernel for spec in specs)
        yield References(runner_for(ready, specs, workers), memory, watch)


def carry_out(
    lab: LabSpec,
    variants: Sequence[Variant],
    out: Path,
    workers: int | None = None,
    module: Path | None = None,
) -> list[VariantRuns]:
    """Run these variants, with `module` or the package's own; `out` remembers what was run."""
    with scratch() as folder:
        own = examples_of(lab, module or example_module(folder))
        first = [combination_of(run, variants[0], own) for run in lab.runs]
        with _references(lab, first, out, workers) as references:
            points: dict[Variant, dict[str, list[Point]]] = {variant: {} for variant in variants}
            for variant, run in itertools.product(points, lab.runs):
                combination = combination_of(run, variant, own)
                seeds = seeds_of(run, variant)
                points[variant][run.name] = [references.point(combination, each) for each in seeds]
            references.ask(
                point for runs in points.values() for listed in runs.values() for point in listed
            )
    return [_carried(variant, points[variant], references) for variant in variants]


def _carried(
    variant: Variant, points: dict[str, list[Point]], references: References
) -> VariantRuns:
    runs = {}
    for name, listed in points.items():
        records = [references.records[point.key] for point in listed]
        for problem in (record["problem"] for record in records if record["problem"]):
            return VariantRuns(variant, {}, problem)
        runs[name] = MeasuredRun(tuple(record["values"] for record in records))
    return VariantRuns(variant, runs)


def carry_hidden(lab: LabSpec, course: Course, out: Path, workers: int | None) -> HiddenResults:
    with _references(lab, _nominal(lab), out, workers) as references:
        hidden = HiddenRuns(lab, course, references)
        references.ask(hidden.points())
        return hidden.results()


def carry_programs(
    lab: LabSpec, own: OwnParts, out: Path, workers: int | None = None
) -> dict[str, list[tuple[HiddenNetwork, TestedProgram]]]:
    """Run programs on the networks of self-study, which everybody knows; by question."""
    with _references(lab, _nominal(lab), out, workers) as references:
        hidden = HiddenRuns(lab, SELF_STUDY, references, own)
        references.ask_for_programs([hidden.points()])
        tested = hidden.tested()
        return {
            name: list(zip(networks, tested[name], strict=True))
            for name, networks in hidden.networks.items()
        }


def _nominal(lab: LabSpec) -> Iterator[Combination]:
    plain = (run for run in lab.runs if not run.chosen and not run.module)
    return (combination_of(run, nominal_variant(lab)) for run in plain)


def corners(lab: LabSpec) -> list[Values]:
    """Return the ends of every range combined, and the middle of all."""
    ends = [{(span.name, span.values[at]): None for at in (0, -1)} for span in lab.varies]
    return [*itertools.product(*ends), nominal_variant(lab).values]


def check_ranges(
    lab: LabSpec,
    seeds: int,
    out: Path,
    workers: int | None = None,
    places: Sequence[Values] | None = None,
) -> list[LessonResult]:
    """Run every corner, or these places, under that many seeds."""
    chosen = itertools.product(corners(lab) if places is None else places, range(seeds))
    variants = [Variant(lab.name, "", "", values, 1 + 1000 * seed) for values, seed in chosen]
    results = []
    for runs in carry_out(lab, variants, out, workers):
        try:
            numbers = runs.key(lab).numbers
        except TcplabError as error:
            results.append(LessonResult(runs.variant, False, str(error)))
            continue
        odd = [
            f"{name} of {value:.4g} would not be plausible"
            for name, value in numbers.items()
            if not lab.question(name).low <= value <= lab.question(name).high
        ]
        lesson = bool(key_module(lab.name).lesson(runs.runs))
        results.append(LessonResult(runs.variant, lesson and not odd, "; ".join(odd)))
    return results
