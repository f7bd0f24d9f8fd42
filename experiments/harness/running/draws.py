"""Draws of a seed: random amounts that a spec's flows get, the same under all conditions.

Each has a name made of the seed, the study, the flow and the field, so another flow or another draw
changes none of the others.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.spec import Draw, ExperimentSpec, Flow
from experiments.traffic import planned
from topologies.foundation.data import kind_at
from topologies.foundation.errors import UsageError
from topologies.foundation.units import Quantity


def drawn(spec: ExperimentSpec, seed: int) -> tuple[ExperimentSpec, dict[str, str]]:
    """Return the spec of one seed, without draws, and the drawn values by their places.

    Raises UsageError for a field that cannot be drawn or a value that is impossible.
    """
    if not spec.draws and not any(flow.traffic for flow in spec.flows):
        return spec, {}
    flows, values = [], dict[str, str]()
    for number, flow in enumerate(spec.flows):
        named, fields = f"{spec.name} flows.{flow.name}", dict[str, Any]()
        for draw in spec.draws:
            _, which, field = draw.path
            if which in ("*", str(number)):
                fields[field] = _value(draw, flow, random.Random(f"{seed} {named}.{field}"))
                values[f"flows.{flow.name}.{field}"] = str(fields[field])
        if flow.traffic:
            fields["exchanges"] = planned(flow, f"{seed} {named}.traffic")
        flows.append(replace(flow, **fields))
    return replace(spec, flows=tuple(flows), draws=()), values


def note_draws(folder: Path, values: dict[str, str]) -> None:
    """Write drawn.json into the seed's folder, if something was drawn."""
    if values:
        (folder / "drawn.json").write_text(json.dumps(values, indent=1) + "\n")


def _value(draw: Draw, flow: Flow, source: random.Random) -> Quantity:
    kind: Any = kind_at(Flow, draw.path[2:])
    base = getattr(flow, draw.path[2])
    if not (isinstance(kind, type) and issubclass(kind, Quantity) and base is not None):
        raise UsageError(
            f"{draw.field} is no quantity of flow {flow.name}.", "Draw its start or its amount."
        )
    amount = kind.parse(draw.amount).base
    uniform = draw.kind == "uniform"
    share = source.random() if uniform else source.expovariate(1.0)
    return kind(base.base + int(share * amount))
