"""Every kind of student there is: what each hands in of the SACK lab, and what the grader should say of it."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from labs.assignment import ANSWERS, Assignment
from labs.catalogue import key_module
from labs.checking import check
from labs.doing import do
from labs.key import Key
from labs.measuring import MeasuredRun, values_of
from labs.packing import pack
from labs.runs import run_folder, variables_of
from labs.spec import LabSpec
from testbed.lab import lab as the_lab

LAB = "sack"
BY_HAND = 6
"""Points of the questions that a person reads."""
PICTURE = bytes.fromhex("89504e470d0a1a0a0000000d4948445200000001000000010806000000" "1f15c4890000000d49444154789c6360"
                        "606060000000050001a5f645400000000049454e44ae426082")  # fmt: skip
TEXT = "Without SACK an acknowledgement names only the first gap. {0} therefore waited for time-outs."


@dataclass
class Student:
    """A student: what becomes of the honest hand-in. `other` is whose work is used."""

    name: str
    kind: Kind
    assignment: Assignment | None = None
    key: Key | None = None
    other: Student | None = None
    zip: Path = Path()

    @property
    def folder(self) -> Path:
        assert self.assignment
        return self.assignment.folder

    @property
    def run(self) -> Path:
        found = run_folder(self.folder, LAB)
        assert found
        return found


@dataclass(frozen=True)
class Kind:
    """What a kind of student does, and what the grader should say of it.

    `state`; `flags` that must be among its flags (none allowed where it is empty and the state is graded); `points`,
    from and to, of those that the program gives; `said`, a part of the feedback page.
    """

    name: str
    state: str
    hand_in: Callable[[Student, LabSpec, Path], None]
    flags: frozenset[str] = frozenset()
    points: tuple[float, float] | None = None
    said: str = ""
    runs: bool = True


def full(lab: LabSpec) -> float:
    """All points that the program gives."""
    return lab.points - BY_HAND


def written(lab: LabSpec, key: Key, change: Callable[[str, float], str] | None = None) -> dict[str, Any]:
    """The answers of the key as a student writes them; `change(question, value)` writes a number otherwise."""
    found: dict[str, Any] = {}
    for question in lab.questions:
        if question.id in key.numbers:
            value = key.numbers[question.id]
            plain = f"{value:.4g}" if question.unit in ("kbit/s", "%", "", "s") else f"{value:.0f}"
            found[question.id] = change(question.id, value) if change else f"{plain} {question.unit}".strip()
        elif question.id in key.choices:
            found[question.id] = sorted(key.choices[question.id])
    return found


def sheet(student: Student, answers: dict[str, Any], text: str | None = None) -> None:
    """Write answers.toml, with a text and a picture."""
    answers = answers | {"why": text or TEXT.format(student.name), "graph": "graph.png"}
    lines = [f"{name} = {_toml(value)}" for name, value in answers.items()]
    (student.folder / ANSWERS).write_text("[answers]\n" + "\n".join(lines) + "\n")
    (student.folder / "graph.png").write_bytes(PICTURE)


def _toml(value: Any) -> str:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return json.dumps(value)


def packed(student: Student, target: Path) -> None:
    assert student.assignment
    pack(student.assignment, target)


def borrowed(student: Student, target: Path) -> None:
    """A whole hand-in to spoil: what is refused needs no run of its own."""
    assert student.other
    shutil.copyfile(student.other.zip, target)


def rewritten(target: Path, change: Callable[[str, bytes], bytes | None], more: dict[str, bytes] | None = None) -> None:
    """The zip again with each member as `change` gives it, without those that it drops."""
    with zipfile.ZipFile(target) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            if (changed := change(name, content)) is not None:
                archive.writestr(name, changed)
        for name, content in (more or {}).items():
            archive.writestr(name, content)


def honest(student: Student, lab: LabSpec, target: Path) -> None:
    assert student.key and student.assignment
    sheet(student, written(lab, student.key))
    assert check(student.assignment) == []
    packed(student, target)


def honest_in_other_units(student: Student, lab: LabSpec, target: Path) -> None:
    assert student.key

    def other(name: str, value: float) -> str:
        unit = lab.question(name).unit
        return {"kbit/s": f"{value / 8:.2f} kB/s", "s": f"{1000 * value:.0f} ms"}.get(unit, f"{value:.4g} {unit}")

    sheet(student, written(lab, student.key, other))
    packed(student, target)


def honest_rounded(student: Student, lab: LabSpec, target: Path) -> None:
    """Two or three digits, Mbit/s, decimal commas; handed in as a folder in a folder."""
    assert student.key

    def rounded(name: str, value: float) -> str:
        unit = lab.question(name).unit
        return f"{value / 1000:.3f} Mbps".replace(".", ",", 1) if unit == "kbit/s" else f"{value:.3g} {unit}"

    sheet(student, written(lab, student.key, rounded))
    shutil.copytree(student.folder, target.with_suffix("") / "my lab", symlinks=True)


def without_units(student: Student, lab: LabSpec, target: Path) -> None:
    assert student.key
    sheet(student, written(lab, student.key, lambda _, value: f"{value:.4g}"))
    packed(student, target)


def off_by_eight(student: Student, lab: LabSpec, target: Path) -> None:
    """Reads kbit/s as kB/s."""
    assert student.key

    def times(name: str, value: float) -> str:
        unit = lab.question(name).unit
        return f"{value:.4g} kB/s" if unit == "kbit/s" else f"{value:.4g} {unit}"

    sheet(student, written(lab, student.key, times))
    packed(student, target)


def mixed_up(student: Student, lab: LabSpec, target: Path) -> None:
    """Counts the needless copies at the receiver for the retransmissions."""
    assert student.key
    answers = written(lab, student.key)
    answers["resent_off"] = f"{student.key.mistakes['resent_off']['at_receiver']:.0f} segments"
    sheet(student, answers)
    packed(student, target)


def follows(student: Student, lab: LabSpec, target: Path) -> None:
    """One rate is wrong, and the factor follows from it."""
    assert student.key
    answers, wrong = written(lab, student.key), 1.7 * student.key.numbers["goodput_on"]
    answers["goodput_on"] = f"{wrong:.4g} kbit/s"
    answers["factor"] = f"{wrong / student.key.numbers['goodput_off']:.4g}"
    sheet(student, answers)
    packed(student, target)


def fabricated(student: Student, lab: LabSpec, target: Path) -> None:
    """True captures, invented numbers."""
    assert student.key
    chance = random.Random(student.name)
    sheet(student, written(lab, student.key, lambda name, value: f"{value * chance.uniform(1.3, 1.9) + 3:.4g} "
                                                                 f"{lab.question(name).unit}"))  # fmt: skip
    packed(student, target)


def numbers_of_another(student: Student, lab: LabSpec, target: Path) -> None:
    """The own run, and the neighbour's numbers."""
    assert student.other and student.other.key
    sheet(student, written(lab, student.other.key))
    packed(student, target)


def captures_of_another(student: Student, lab: LabSpec, target: Path) -> None:
    """The neighbour's whole run under the own name."""
    assert student.other and student.other.key
    shutil.rmtree(student.folder / "runs")
    shutil.copytree(student.other.folder / "runs", student.folder / "runs", symlinks=True)
    sheet(student, written(lab, student.other.key))
    packed(student, target)


def relabelled(student: Student, lab: LabSpec, target: Path) -> None:
    """The neighbour's captures, with parameters, seed and digests made to look like the own ones."""
    assert student.other and student.other.key
    manifest = json.loads((student.run / "manifest.json").read_text())
    theirs = next((student.other.run / "raw").iterdir())
    own = next((student.run / "raw").iterdir())
    shutil.rmtree(own)
    shutil.copytree(theirs, own)
    _sign(student.run, manifest)
    sheet(student, written(lab, student.other.key))
    packed(student, target)


def _sign(run: Path, manifest: dict[str, Any]) -> None:
    """Make the manifest fit the files."""
    files = {file.relative_to(run).as_posix(): hashlib.sha256(file.read_bytes()).hexdigest()
             for file in sorted(run.rglob("*")) if file.is_file() and file.name != "manifest.json"}  # fmt: skip
    (run / "manifest.json").write_text(json.dumps(manifest | {"files": files}))


def edited(student: Student, lab: LabSpec, target: Path) -> None:
    """A byte of a capture is another."""
    assert student.key
    sheet(student, written(lab, student.key))
    _edit(student)
    packed(student, target)


def edited_and_signed(student: Student, lab: LabSpec, target: Path) -> None:
    """The same, and a manifest that fits."""
    assert student.key
    sheet(student, written(lab, student.key))
    _edit(student)
    _sign(student.run, json.loads((student.run / "manifest.json").read_text()))
    packed(student, target)


def _edit(student: Student) -> None:
    file = next(student.run.rglob("sack_on/h1-eth0.pcap"))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 0x55
    file.write_bytes(content)


def honest_in_real_time(student: Student, lab: LabSpec, target: Path) -> None:
    """What `vagrant up` gives: the own link and other packets. Made with another seed, since no two are alike."""
    assert student.assignment
    shutil.rmtree(student.folder / "runs")
    other = replace(student.assignment, variant=replace(student.assignment.variant, seed=12345))
    ready = the_lab()
    run = do(other, lab.runs[0], "virtual", lambda: ready)
    values = values_of(str(run))["values"]
    key = key_module(LAB).key({LAB: MeasuredRun(tuple(values.values()))}, variables_of(lab, other.variant))
    seed = student.assignment.variant.seed
    (run / "raw" / "seed-12345").rename(run / "raw" / f"seed-{seed}")
    _sign(run, json.loads((run / "manifest.json").read_text()) | {"testbed": "native", "seeds": [seed]})
    sheet(student, written(lab, key))
    packed(student, target)


def said_to_be_native(student: Student, lab: LabSpec, target: Path) -> None:
    """Edited captures under the pretext that they were made in real time."""
    assert student.key
    sheet(student, written(lab, student.key, lambda name, value: f"{1.5 * value:.4g} {lab.question(name).unit}"))
    file = next(student.run.rglob("sack_on/h1-eth0.pcap"))
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 3])
    _sign(student.run, json.loads((student.run / "manifest.json").read_text()) | {"testbed": "native"})
    packed(student, target)


def cut_short(student: Student, lab: LabSpec, target: Path) -> None:
    """A download that broke off in the middle of a capture."""
    honest(student, lab, target)
    rewritten(
        target,
        lambda name, content: content[: len(content) // 2] if name.endswith("sack_off/h1-eth0.pcap") else content,
    )


def damaged(student: Student, lab: LabSpec, target: Path) -> None:
    """A capture whose lengths are nonsense."""
    honest(student, lab, target)
    chance = random.Random(student.name)

    def garbled(name: str, content: bytes) -> bytes:
        if not name.endswith(".pcap"):
            return content
        return content[:24] + b"".join(struct.pack("<I", chance.getrandbits(32)) for _ in range(len(content) // 4))

    rewritten(target, garbled)


def no_run(student: Student, lab: LabSpec, target: Path) -> None:
    honest(student, lab, target)
    rewritten(target, lambda name, content: None if name.startswith("runs/") else content)


def half_a_zip(student: Student, _lab: LabSpec, target: Path) -> None:
    borrowed(student, target)
    target.write_bytes(target.read_bytes()[: target.stat().st_size // 2])


def no_zip(student: Student, _lab: LabSpec, target: Path) -> None:
    target.write_bytes(b"I could not get it to work, sorry.\n")


def zip_slip(student: Student, _lab: LabSpec, target: Path) -> None:
    borrowed(student, target)
    rewritten(target, lambda _, content: content, {"runs/../../../../../tmp/owned": b"owned"})


def bomb(student: Student, _lab: LabSpec, target: Path) -> None:
    borrowed(student, target)
    rewritten(target, lambda _, content: content, {"runs/sack/raw/seed-1/sack_on/h1-eth0.pcap": bytes(300 << 20)})


def link(student: Student, _lab: LabSpec, target: Path) -> None:
    borrowed(student, target)
    with zipfile.ZipFile(target, "a") as archive:
        entry = zipfile.ZipInfo("runs/sack/raw/seed-1/passwd")
        entry.external_attr = 0o120777 << 16
        archive.writestr(entry, "/etc/passwd")


def device(student: Student, _lab: LabSpec, target: Path) -> None:
    assert student.other
    folder = target.with_suffix("")
    shutil.copytree(student.other.folder, folder, symlinks=True)
    os.mkfifo(folder / "runs" / "fifo")


def endless_toml(student: Student, _lab: LabSpec, target: Path) -> None:
    borrowed(student, target)
    rewritten(target, lambda name, content: b"a = " + b"[" * 60_000 if name == ANSWERS else content)


def huge_toml(student: Student, _lab: LabSpec, target: Path) -> None:
    borrowed(student, target)
    rewritten(target, lambda name, content: content + b"#" * 3_000_000 if name == ANSWERS else content)


def hostile_words(student: Student, lab: LabSpec, target: Path) -> None:
    """Right answers, and a text and a number that are HTML and formulas."""
    assert student.key
    answers = written(lab, student.key)
    answers["silence_off"] = '=HYPERLINK("http://example.org","1")'
    sheet(
        student,
        answers,
        "<script>document.title='owned'</script><img src=x onerror=alert(1)> \u202e @SUM(1+1)*cmd|' /C calc'!A0",
    )
    packed(student, target)


def manifest_elsewhere(student: Student, lab: LabSpec, target: Path) -> None:
    """A manifest and a spec whose names lead out of the folder."""
    honest(student, lab, target)

    def elsewhere(name: str, content: bytes) -> bytes:
        if name.endswith("manifest.json"):
            return json.dumps(
                json.loads(content) | {"files": {"../../../../etc/passwd": "0", "raw/../../x": "1"}}
            ).encode()
        if name.endswith("spec.json"):
            return content.replace(b'"h1-eth0"', b'"../../../../etc/h1-eth0"')
        return content

    rewritten(target, elsewhere)


def empty(student: Student, _lab: LabSpec, target: Path) -> None:
    with zipfile.ZipFile(target, "w"):
        pass


POINTS = 24.0
KINDS = (
    Kind("honest", "graded", honest, points=(POINTS, POINTS), said="it gave your captures"),
    Kind("honest in other units", "graded", honest_in_other_units, points=(POINTS, POINTS)),
    Kind("honest, rounded, as a folder", "graded", honest_rounded, points=(POINTS - 5, POINTS)),
    Kind("without units", "graded", without_units, points=(18, 18), said="the unit is missing"),
    Kind("off by eight", "graded", off_by_eight, points=(19.5, 19.5), said="8 times"),
    Kind("mixed up", "graded", mixed_up, points=(21, 21), said="arrived there twice"),
    Kind("follow-through", "graded", follows, points=(21, 21), said="follows rightly"),
    Kind("fabricated numbers", "graded", fabricated, points=(0, 5)),
    Kind("numbers of another", "look", numbers_of_another, frozenset({"other variant"}), points=(0, 10)),
    Kind("captures of another", "look", captures_of_another,
         frozenset({"captures", "same captures", "other settings"})),
    Kind("relabelled captures", "look", relabelled, frozenset({"captures", "same captures"})),
    Kind("edited", "look", edited, frozenset({"manifest", "captures"}), said="differs from packet"),
    Kind("edited and signed", "look", edited_and_signed, frozenset({"captures"}), said="differs from packet"),
    Kind("honest in real time", "look", honest_in_real_time, frozenset({"real time"}), (POINTS, POINTS), "real time"),
    Kind("said to be native", "look", said_to_be_native, frozenset({"real time", "witnesses"})),
    Kind("cut short", "look", cut_short, frozenset({"manifest", "cut short"}), (POINTS, POINTS), "ends there"),
    Kind("damaged", "look", damaged, frozenset({"manifest", "captures", "unreadable"}), (POINTS, POINTS)),
    Kind("no run", "look", no_run, frozenset({"no run"}), points=(POINTS, POINTS)),
    Kind("half a zip", "could not grade", half_a_zip, said="no whole zip", runs=False),
    Kind("no zip", "could not grade", no_zip, said="no whole zip", runs=False),
    Kind("zip slip", "could not grade", zip_slip, said="leave its folder", runs=False),
    Kind("bomb", "could not grade", bomb, said="very much more", runs=False),
    Kind("link", "could not grade", link, said="link or a device", runs=False),
    Kind("device", "could not grade", device, said="link or a device", runs=False),
    Kind("endless TOML", "could not grade", endless_toml, said="cannot be read", runs=False),
    Kind("huge TOML", "could not grade", huge_toml, said="larger than 64 KiB", runs=False),
    Kind("hostile words", "graded", hostile_words, points=(POINTS - 3, POINTS - 3), said="&lt;script&gt;"),
    Kind("manifest elsewhere", "look", manifest_elsewhere, frozenset({"manifest"}), points=(POINTS, POINTS)),
    Kind("empty", "could not grade", empty, said="answers.toml", runs=False),
)  # fmt: skip
