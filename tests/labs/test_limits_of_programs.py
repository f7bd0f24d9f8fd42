"""A program that its limit ended on the first network is run on no other."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from labs.measuring.references import References
from testbed.guest.host_root import AT_ITS_LIMIT

LIMIT = f"Seed 1: flow1: the sender {AT_ITS_LIMIT}."


def references(asked: list[str], warnings: dict[str, list[str]]) -> References:
    """Return references whose runs are only noted."""
    made: Any = References(Any, Any, Any)  # type: ignore[arg-type]

    def ask(points: Sequence[Any]) -> None:
        for point in points:
            asked.append(point.key)
            found = warnings.get(point.key, [])
            made.records[point.key] = {"status": "complete", "problem": "", "warnings": found}

    made.ask = ask
    return made


def test_after_a_limit_the_other_networks_are_not_run() -> None:
    asked: list[str] = []
    made = references(asked, {"bomb1": [LIMIT]})
    programs = [
        [SimpleNamespace(key=f"{name}{number}") for number in (1, 2, 3)]
        for name in ("bomb", "honest")
    ]
    made.ask_for_programs(programs)  # type: ignore[arg-type]
    assert asked == ["bomb1", "honest1", "honest2", "honest3"]
    skipped = [made.records[f"bomb{number}"] for number in (2, 3)]
    assert {record["status"] for record in skipped} == {"failed"}
    assert all(LIMIT in record["problem"] for record in skipped)
