"""The grid of a sweep: what is varied, over which values, and the spec of every combination.

A name is a parameter, a field of the spec (flows.*.window), a sysctl, `kernel`, or of the link
(link.target). Seeds may draw a quantity: start=0s..100ms uniformly, amount=exp:1MiB.
"""

import dataclasses
import itertools
import math
import re
import typing
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from experiments.spec import Draw, ExperimentSpec
from experiments.study import link
from experiments.study.catalogue import Experiment
from experiments.study.kernels import refuse_what_is_lacking
from testbed.lab.kernel import choice
from topologies.data import digest, from_data, kind_at, replaced, to_data
from topologies.errors import UsageError
from topologies.units import TIMES, Count, Duration, Frequency, Packets, Quantity, Rate, Share, Size

KERNEL = "kernel"
_DRAWN = re.compile(r"(?:exp:(?P<mean>\S+)|(?P<low>\S+)\.\.(?P<high>\S+))")
_SYSCTL = re.compile(r"net(\.[A-Za-z0-9_-]+)+")
_MOST = 1_000_000  # combinations; a typing error should not fill the memory
_SHOWN = 5  # impossible combinations that a message names
_COLUMNS: dict[type, tuple[str, str, float]] = {
    Rate: ("bit_s", "bit/s", 1),
    Duration: ("s", "s", 1 / TIMES["s"]),
    Share: ("percent", "%", 1 / Share.units["%"]),
    Size: ("bytes", "bytes", 1),
    Packets: ("packets", "packets", 1),
    Count: ("number", "", 1),
    Frequency: ("hz", "Hz", 1e-6),
}
"""Kind of quantity to the ending of its column, the unit there, and the factor from base units."""


@dataclass(frozen=True)
class Factor:
    """A factor of a sweep. `kind` is the type of its levels, `meaning` a sentence for people."""

    name: str
    kind: type
    values: tuple[str, ...]
    meaning: str

    @property
    def column(self) -> str:
        """Name of the numeric column; for words that of the text."""
        return f"{self.name}_{_COLUMNS[self.kind][0]}" if self.kind in _COLUMNS else self.name

    def number(self, value: str) -> float:
        return float(self.kind.parse(value).base * _COLUMNS[self.kind][2])  # type: ignore[attr-defined]

    def described(self) -> dict[str, Any]:
        quantity = self.kind in _COLUMNS
        return {
            "name": self.name,
            "meaning": self.meaning,
            "kind": self.kind.__name__.lower() if quantity else "word",
            "values": list(self.values),
            "column": self.column,
            "unit": _COLUMNS[self.kind][1] if quantity else "",
        }


@dataclass(frozen=True)
class Combination:
    """A value for every factor, and the spec that they make."""

    values: tuple[tuple[str, str], ...]
    parameters: Any
    spec: ExperimentSpec
    repeats: bool = False
    """Its discipline lacks a parameter that is swept: one value of it stands for all."""
    rounded: tuple[str, ...] = ()  # sentences about what the kernel rounds

    @cached_property
    def data(self) -> Any:
        return to_data(self.spec)

    @cached_property
    def digest(self) -> str:
        """Hash of the network settings, ignoring claim and headline."""
        return digest({**self.data, "claim": "", "headline": None})

    def __str__(self) -> str:
        return (
            ", ".join(f"{name} {value}" for name, value in self.values) or "the experiment as it is"
        )


def factor(named: Experiment, name: str, values: Sequence[str]) -> Factor:
    """Return the factor of that name with its levels in shortest form. Raises UsageError."""
    kind, meaning = _meant(named, name)
    if not field_name(named, name) and any(map(_DRAWN.fullmatch, values)):
        kind = str
    written = tuple(str(value_of(name, kind, value)) for value in values or ("",))
    if twice := next((value for value in written if written.count(value) > 1), None):
        raise UsageError(f"{name} has the value {twice} twice.", "Name each value once.")
    return Factor(name, kind, written, meaning)


def kind_of(named: Experiment, name: str) -> type:
    """Return the type of the named value: Duration for delay, str for a word. Raises UsageError."""
    return _meant(named, name)[0]


def _meant(named: Experiment, name: str) -> tuple[type, str]:
    parameters = named.parameters()
    fields = {field.name: field for field in dataclasses.fields(parameters)}
    if own := field_name(named, name):
        return typing.get_type_hints(parameters)[own], fields[own].metadata.get("meaning", "")
    if _SYSCTL.fullmatch(name):
        return str, "Sysctl of every host."
    if name == KERNEL:
        return str, "Linux that all hosts run, in virtual time."
    if name.startswith(link.PREFIX):
        return link.meant(name)
    try:
        kind = kind_at(ExperimentSpec, name.split(".")) if "." in name else type(None)
    except UsageError as error:
        raise UsageError(f"{named.name}: {error.problem}", "See its spec: --dry-run.") from None
    if kind in _COLUMNS:
        return kind, "Field of the spec."
    if kind in (str, int) or typing.get_origin(kind) is typing.Literal:
        return str, "Field of the spec."
    raise UsageError(
        f"{named.name} has no parameter '{name[:60]}' to set.",
        f"Its parameters are {', '.join(fields)}; or name a field of its spec, such as "
        "topology.links.1.rightward.queue, or a sysctl, such as net.ipv4.tcp_reordering.",
    )


def combinations(named: Experiment, factors: Sequence[Factor]) -> list[Combination]:
    """Return every combination, the last factor varying fastest. Raises UsageError."""
    number = math.prod(len(factor.values) for factor in factors)
    if number > _MOST:
        remedy = f"Name fewer values: at most {_MOST:,} are possible."
        raise UsageError(f"These are {number:,} combinations.", remedy)
    levels = {factor.name: factor.values for factor in factors}
    link.refuse_parameters_of_none(named.spec(named.parameters()()), levels)
    possible, impossible, repeated = [], [], set[str]()
    for values in itertools.product(*levels.values()):
        chosen = dict(zip(levels, values, strict=True))
        try:
            made = combination(named, chosen, lenient=len(factors) > 1)
        except UsageError as error:
            words = ", ".join(f"{name}={value}" for name, value in chosen.items())
            impossible.append(f"{words}: {error.problem}")
            continue
        if not (made.repeats and made.digest in repeated):
            possible.append(made)
        repeated |= {made.digest} if made.repeats else set()
    if impossible:
        more = [f"... and {len(impossible) - _SHOWN} more."] if len(impossible) > _SHOWN else []
        listed = "\n  ".join([*impossible[:_SHOWN], *more])
        problem = f"{len(impossible)} of {number} combinations are impossible:\n  {listed}\n"
        raise UsageError(problem, "Leave those values out.")
    return possible


def combination(
    named: Experiment,
    chosen: Mapping[str, Quantity | str],
    parameters: Any = None,
    lenient: bool = False,
) -> Combination:
    """Return the run with these values in the parameters. Raises UsageError.

    `lenient` ignores parameters that a discipline lacks: another one of the sweep has them.
    """
    kind = named.parameters()
    hints, own, others = typing.get_type_hints(kind), dict[str, Any](), dict[str, str]()
    for name, value in chosen.items():
        if field := field_name(named, name):
            own[field] = value_of(name, hints[field], value)
        else:
            others[name] = str(value)
    made = dataclasses.replace(parameters or kind(), **own)
    spec = named.spec(made)
    of_link = {name: value for name, value in others.items() if name.startswith(link.PREFIX)}
    for name, value in others.items():
        if name not in of_link:
            spec = with_field(spec, name, value)
    if of_link:
        spec = link.with_link(spec, of_link, lenient)
    refuse_what_is_lacking(spec)
    link.refuse_what_tc_rounds(spec)
    spec, rounded = link.held(spec)
    values = tuple((name, str(value)) for name, value in chosen.items())
    return Combination(values, made, spec, link.lacks_any(spec, of_link), rounded)


def field_name(named: Experiment, name: str) -> str:
    """Return the field of the parameters with that name; empty without one."""
    dashed = name.replace("-", "_")
    return dashed if dashed in named.parameters().__dataclass_fields__ else ""


def value_of(name: str, kind: type, value: Quantity | str) -> Quantity | str:
    """Parse a value of that kind. Raises UsageError."""
    if isinstance(value, Quantity):
        return value
    if isinstance(kind, type) and issubclass(kind, Quantity):  # a Literal is no class
        return kind.parse(value)
    if not value.strip():
        raise UsageError(f"{name} has an empty value.", f"Write --set {name}=VALUE,VALUE.")
    return value.strip()


def with_field(spec: ExperimentSpec, name: str, value: str) -> ExperimentSpec:
    """Return the spec with a field, sysctl or kernel set. Raises UsageError."""
    data = to_data(spec)
    if name == KERNEL:
        data[KERNEL] = str(choice.chosen(value))
    elif _SYSCTL.fullmatch(name):
        for condition in data["conditions"]:
            others = [pair for pair in condition["sysctls"] if pair[0] != name]
            condition["sysctls"] = [*others, [name, value]]
    else:
        data["draws"] = [each for each in data["draws"] if each["field"] != name]
        path, content = name.split("."), _content(name, value)
        if draw := _DRAWN.fullmatch(value):
            content, drawn = _drawn(name, draw)
            data["draws"].append(to_data(drawn))
        try:
            data = replaced(data, path, content)
        except UsageError as error:
            raise UsageError(error.problem, "See the fields: --dry-run.") from None
    changed: ExperimentSpec = from_data(ExperimentSpec, data)
    return changed


_LARGEST = 65535  # the largest port: ports are the whole numbers of a spec


def _content(name: str, value: str) -> str | int:
    """Return a field's value as a spec's data has it. Raises UsageError for another word."""
    kind = kind_at(ExperimentSpec, name.split("."))
    words = [word for word in typing.get_args(kind) if word]
    if words and value not in words:
        raise UsageError(f"{name} cannot be '{value[:40]}'.", f"Choose from {', '.join(words)}.")
    if kind is not int:
        return value
    if not (value.isdecimal() and 0 < int(value) <= _LARGEST):
        raise UsageError(f"{name} cannot be '{value[:40]}'.", f"Choose one from 1 to {_LARGEST}.")
    return int(value)


def _drawn(name: str, draw: re.Match[str]) -> tuple[str, Draw]:
    """Return the least value of a field, and what each seed adds to it. Raises UsageError."""
    kind = kind_at(ExperimentSpec, name.split("."))
    if draw["mean"]:
        low, spread = kind(1), kind.parse(draw["mean"])
    else:
        low = kind.parse(draw["low"])
        spread = kind(max(0, kind.parse(draw["high"]).base - low.base))
    if not spread.base:
        raise UsageError(f"{name} has no values from {draw[0]}.", "Write it like 0s..100ms.")
    return str(low), Draw(name, str(spread), "exponential" if draw["mean"] else "uniform")


def settings_from(texts: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Parse settings such as `delay=10ms,50ms`. Raises UsageError."""
    settings: dict[str, tuple[str, ...]] = {}
    for text in texts:
        name, equals, values = text.partition("=")
        if not equals or not name.strip():
            problem = f"Missing '=' in --set '{text[:60]}'."
            raise UsageError(problem, "Write --set NAME=VALUE,VALUE: --set delay=10ms,50ms.")
        if name.strip() in settings:
            raise UsageError(f"{name.strip()} is set twice.", "Put all its values into one --set.")
        settings[name.strip()] = tuple(values.split(","))
    return tuple(settings.items())


def single(named: Experiment, texts: Iterable[str], parameters: Any = None) -> Combination:
    """Return the run with these parameters, or defaults, and `NAME=VALUE`. Raises UsageError."""
    settings = settings_from(texts)
    if several := next((name for name, values in settings if len(values) > 1), None):
        problem = f"{several} has several values."
        raise UsageError(problem, "A run takes one; ./tcplab sweep takes many.")
    values = {
        name: value_of(name, factor(named, name, (text,)).kind, text) for name, (text,) in settings
    }
    return combination(named, values, parameters)
