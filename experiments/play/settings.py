"""Settings of the live page: the parameters of the playground, and a seed."""

from __future__ import annotations

import dataclasses
import shlex
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from experiments.playground import PlaygroundParameters, experiment
from experiments.spec import ExperimentSpec
from topologies.errors import UsageError
from topologies.units import Quantity

_MOST_SEED = 2**31 - 1


@dataclass(frozen=True)
class PlaySettings:
    """Values that are valid together: they make a spec."""

    parameters: PlaygroundParameters = field(default_factory=PlaygroundParameters)
    seed: int = 1

    @classmethod
    def from_data(cls, texts: Mapping[str, str]) -> PlaySettings:
        """Read settings from typed texts; others have defaults. Raises WrongSetting."""
        kinds = typing.get_type_hints(PlaygroundParameters)
        for name in texts:
            if name != "seed" and name not in kinds:
                raise WrongSetting(name[:40], f"There is no setting '{name[:40]}'.")
        values = {
            name: _value(name, kinds[name], text) for name, text in texts.items() if name in kinds
        }
        settings = cls(_made(values), _seed(texts.get("seed", "1")))
        _whole(settings)
        return settings

    def as_data(self) -> dict[str, str]:
        return {name: str(getattr(self.parameters, name)) for name in _names()} | {
            "seed": str(self.seed)
        }

    def changed(self) -> dict[str, str]:
        """Return the parameters that differ from the playground's defaults, as text, by name."""
        usual = PlaygroundParameters()
        return {
            name: str(value)
            for name in _names()
            if (value := getattr(self.parameters, name)) != getattr(usual, name)
        }

    def spec(self) -> ExperimentSpec:
        return experiment(self.parameters)

    def command(self) -> str:
        options = [word for name, value in self.changed().items() for word in (f"--{name}", value)]
        run = ["./tcplab", "run", self.spec().name, *options]
        return shlex.join([*run, "--seed", str(self.seed), "--repeat", "1"])


class WrongSetting(UsageError):
    """An impossible value; `field` names the setting, empty for several together."""

    def __init__(self, field: str, problem: str, remedy: str = "") -> None:
        super().__init__(problem, remedy)
        self.field = field


def _names() -> list[str]:
    return [field.name for field in dataclasses.fields(PlaygroundParameters)]


def _value(name: str, kind: Any, text: str) -> Any:
    if not issubclass(kind, Quantity):
        return text
    try:
        return kind.parse(text)
    except UsageError as error:
        raise WrongSetting(name, error.problem, error.remedy) from None


def _made(values: dict[str, Any]) -> PlaygroundParameters:
    """Build the parameters after a trial of each value. Raises WrongSetting, which names it."""
    for name, value in values.items():
        try:
            dataclasses.replace(PlaygroundParameters(), **{name: value})
        except UsageError as error:
            raise WrongSetting(name, error.problem, error.remedy) from None
    return PlaygroundParameters(**values)


def _whole(settings: PlaySettings) -> None:
    """Raise WrongSetting with the first cause if the values conflict."""
    try:
        settings.spec()
        return
    except UsageError as error:
        whole = error
    for name in _names():
        usual = getattr(PlaygroundParameters(), name)
        if getattr(settings.parameters, name) == usual:
            continue
        try:
            experiment(dataclasses.replace(settings.parameters, **{name: usual}))
        except UsageError:
            continue
        raise WrongSetting(name, whole.problem, whole.remedy)
    raise WrongSetting("", whole.problem, whole.remedy)


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:12]) <= _MOST_SEED:
        raise WrongSetting("seed", f"'{text[:20]}' is no seed.", f"Choose 1 to {_MOST_SEED}.")
    return int(text)
