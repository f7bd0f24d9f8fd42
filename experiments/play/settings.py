"""Settings of the live page: the parameters of the playground, and a seed."""

from __future__ import annotations

import shlex
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
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
        values: dict[str, Any] = {}
        for name, text in texts.items():
            if name in kinds:
                values[name] = _possible(name, kinds[name], text)
            elif name != "seed":
                raise WrongSetting(name[:40], f"There is no setting '{name[:40]}'.")
        seed = texts.get("seed", "1")
        if not seed.isascii() or not seed.isdecimal() or not 1 <= int(seed[:12]) <= _MOST_SEED:
            raise WrongSetting("seed", f"'{seed[:20]}' is no seed.", f"Choose 1 to {_MOST_SEED}.")
        settings = cls(PlaygroundParameters(**values), int(seed))
        settings._require_whole()
        return settings

    def as_data(self) -> dict[str, str]:
        return {**_texts(self.parameters), "seed": str(self.seed)}

    def changed(self) -> dict[str, str]:
        """Return the parameters that differ from the playground's defaults, as text, by name."""
        usual = _texts(PlaygroundParameters())
        texts = _texts(self.parameters)
        return {name: text for name, text in texts.items() if text != usual[name]}

    def spec(self) -> ExperimentSpec:
        return experiment(self.parameters)

    def command(self) -> str:
        options = [word for name, value in self.changed().items() for word in (f"--{name}", value)]
        run = ["./tcplab", "run", self.spec().name, *options]
        return shlex.join([*run, "--seed", str(self.seed), "--repeat", "1"])

    def _require_whole(self) -> None:
        """Raise WrongSetting, which names the first cause, if the values conflict."""
        try:
            self.spec()
        except UsageError as error:
            culprits = (name for name in self.changed() if self._is_possible_without(name))
            raise WrongSetting(next(culprits, ""), error.problem, error.remedy) from None

    def _is_possible_without(self, name: str) -> bool:
        usual = getattr(PlaygroundParameters(), name)
        try:
            experiment(replace(self.parameters, **{name: usual}))
        except UsageError:
            return False
        return True


class WrongSetting(UsageError):
    """An impossible value; `field` names the setting, empty for several together."""

    def __init__(self, field: str, problem: str, remedy: str = "") -> None:
        super().__init__(problem, remedy)
        self.field = field


def _texts(parameters: PlaygroundParameters) -> dict[str, str]:
    return {each.name: str(getattr(parameters, each.name)) for each in fields(parameters)}


def _possible(name: str, kind: Any, text: str) -> Any:
    """Return a value that is possible by itself. Raises WrongSetting."""
    try:
        value: Any = kind.parse(text) if issubclass(kind, Quantity) else text
        replace(PlaygroundParameters(), **{name: value})
    except UsageError as error:
        raise WrongSetting(name, error.problem, error.remedy) from None
    return value
