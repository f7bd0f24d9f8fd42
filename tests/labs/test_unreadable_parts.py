"""Each file of a hand-in spoilt in every way: the owner is kept, and everything else counts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from labs.definition.answers import PREDICTIONS
from labs.definition.assignment import ANSWERS, FILE
from labs.definition.spec import LabSpec
from labs.grading.inspection import InspectedHandIn, inspect
from tests.labs.downloads import hand_in, zip_of
from tests.labs.taken_in import taken_in

RUN = "runs/sack"
MANIFEST, SPEC = f"{RUN}/manifest.json", f"{RUN}/spec.json"
GOOD: dict[str, dict[str, Any]] = {
    FILE: {
        "format": 1,
        "language": "en",
        "variant": {"lab": "sack", "student": "ann", "course": "tcp", "values": [], "seed": 7},
    },
    MANIFEST: {
        "testbed": "virtual",
        "seeds": [7],
        "tcplab": "1",
        "tools": {"iperf": "2.1"},
        "kernel": {"release": "6.12", "digest": "ab"},
        "image": {"digest": "cd"},
        "files": {"raw/seed-7/sack_on/h1.pcap": "00"},
    },
    SPEC: {"name": "sack", "parameters": {"loss": "2%"}},
    PREDICTIONS: {"predict_timeouts": "more"},
}
ODD = {
    "5,000 digits": "9" * 5000,
    "minus 5,000 digits": "-" + "9" * 5000,
    "4,000 digits": "9" * 4000,
    "1e400": "1e400",
    "NaN": "NaN",
    "Infinity": "-Infinity",
    "deep": "[" * 900 + "]" * 900,
    "too deep": "[" * 100_000,
    "half a pair": '"\\ud800"',
    "NUL": '"\\u0000"',
    "a huge key": json.dumps({"k" * 70_000: 1}),
    "a half key": '{"\\udc00": "\\udfff"}',
    "null": "null",
    "truth": "true",
    "list": "[1, []]",
    "object": "{}",
    "text": '"\\u001b[31m"',
}
WHOLE: dict[str, Callable[[bytes], bytes]] = {
    "mark": lambda content: b"\xef\xbb\xbf" + content,
    "cut": lambda content: content[: len(content) // 2],
    "empty": lambda content: b"",
    "zero": lambda content: content + b"\0",
    "no UTF-8": lambda content: content.replace(b"a", b"\xff\xfe"),
    "another": lambda content: b"[]",
}
PLACE = '"\\u0001here"'


def _places(value: Any) -> list[tuple[Any, ...]]:
    """The ways to all values within an object, itself included."""
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    return [(), *((key, *rest) for key, inner in items for rest in _places(inner))]


def _with(value: Any, way: tuple[Any, ...], odd: str) -> str:
    """JSON of a value with other text in one place."""
    if not way:
        return odd
    copy = json.loads(json.dumps(value))
    inner = copy
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = json.loads(PLACE)
    return json.dumps(copy).replace(PLACE, odd)


def _members(changed: dict[str, bytes]) -> dict[str, bytes]:
    made = {name: json.dumps(content).encode() for name, content in GOOD.items()}
    raw = {f"{RUN}/raw/seed-7/sack_on/h1.pcap": b"x"}
    return hand_in("ann") | made | raw | changed


def _inspected(changed: dict[str, bytes], folder: Path) -> InspectedHandIn:
    """What a hand-in with these files holds, as grading takes it out of another process."""
    folder.mkdir()
    source, target = folder / "hand-in.zip", folder / "target"
    target.mkdir()
    source.write_bytes(zip_of(_members(changed)))
    answer = json.loads(json.dumps(msgspec.to_builtins(inspect(source, target, "sack"))))
    json.dumps(answer, ensure_ascii=False).encode()
    return msgspec.convert(answer, InspectedHandIn)


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", [MANIFEST, SPEC, PREDICTIONS])
def test_one_odd_value_spoils_its_file_at_most(name: str, odd: str, tmp_path: Path) -> None:
    for number, way in enumerate(_places(GOOD[name])):
        changed = _with(GOOD[name], way, ODD[odd]).encode()
        inspected = _inspected({name: changed}, tmp_path / str(number))
        assert inspected.student == "ann" and not inspected.refused
        assert inspected.answers["goodput_off"] == ["231 kbit/s"]
        assert inspected.runs["sack"].files.keys() == {"seed-7/sack_on/h1.pcap"}
        if name != PREDICTIONS:
            assert inspected.predictions == {"predict_timeouts": ["more"]}
        if not way and not ODD[odd].startswith("{"):
            assert inspected.problems


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_value_in_the_assignment_costs_the_rest_nothing(odd: str, tmp_path: Path) -> None:
    for number, way in enumerate(_places(GOOD[FILE])):
        changed = _with(GOOD[FILE], way, ODD[odd]).encode()
        inspected = _inspected({FILE: changed}, tmp_path / str(number))
        is_of_owner = way in ((), ("variant",), ("variant", "student")) or odd == "too deep"
        assert is_of_owner or inspected.student == "ann"
        is_of_lab = way == ("variant", "lab")
        assert is_of_lab or not inspected.refused
        assert inspected.refused or inspected.answers["goodput_off"] == ["231 kbit/s"]


@pytest.mark.parametrize("how", WHOLE)
@pytest.mark.parametrize("name", [ANSWERS, *GOOD])
def test_a_whole_file_of_another_kind_costs_the_rest_nothing(
    name: str, how: str, tmp_path: Path
) -> None:
    content = WHOLE[how](_members({})[name])
    inspected = _inspected({name: content}, tmp_path / "it")
    assert inspected.student == "ann" or name == FILE
    if name != ANSWERS:
        assert inspected.answers["goodput_off"] == ["231 kbit/s"]
        assert "sack" in inspected.runs and not inspected.refused


TOML = {
    "5,000 digits": "9" * 5000,
    "with underscores": "1" + "_1" * 5000,
    "hexadecimal": "0x" + "f" * 20_000,
    "1e400": "1e400",
    "nan": "nan",
    "inf": "-inf",
    "deep": "[" * 100 + "]" * 100,
    "NUL": '"\\u0000"',
    "a time": "1979-05-27T07:32:00Z",
    "a table": "{a = {b = 1}}",
    "a huge key": '{"' + "k" * 50_000 + '" = 1}',
    "truth": "true",
}


@pytest.mark.parametrize("odd", TOML)
def test_an_odd_answer_costs_the_other_answers_nothing(
    odd: str, sack: LabSpec, tmp_path: Path
) -> None:
    for question in sack.questions:
        lines = f"[answers]\n{question.id} = {TOML[odd]}\n"
        lines += "" if question.id == "goodput_off" else 'goodput_off = "231 kbit/s"\n'
        inspected = _inspected({ANSWERS: lines.encode()}, tmp_path / question.id)
        assert inspected.student == "ann" and not inspected.refused
        assert question.id == "goodput_off" or inspected.answers["goodput_off"] == ["231 kbit/s"]


@pytest.mark.parametrize(
    ("sheet", "why"),
    [
        (b"[answers]\na = " + b"[" * 50_000, "cannot be read"),
        (b'[answers]\na = "\\ud800"\n', "cannot be read"),
        (b"[answers]\ngoodput_off = 231 kbit/s\n", "cannot be read"),
        (b"#" * 70_000, "larger than 64 KiB"),
        (b"answers = 1\n", r"no \[answers\]"),
    ],
)
def test_a_sheet_that_is_none_is_refused_with_its_owner(
    sheet: bytes, why: str, tmp_path: Path
) -> None:
    """No course system says whose it is; assignment.json does."""
    intake = taken_in({"somebody.zip": zip_of(hand_in("ann") | {ANSWERS: sheet})}, tmp_path)
    (case,) = intake.chosen.cases
    assert case.student == "ann" and case.state == "could not grade"
    assert why.replace("\\", "") in case.refused


def test_very_many_names_are_told_of_in_part(tmp_path: Path) -> None:
    names = "".join(f"{number:x}=1\n" for number in range(7000))
    inspected = _inspected({ANSWERS: f"[answers]\n{names}".encode()}, tmp_path / "it")
    assert len(inspected.problems) == 20
