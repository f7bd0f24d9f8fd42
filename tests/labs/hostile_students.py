"""Hand-ins that attack the grader.

They hold paths that lead out, bombs, links, devices, endless files, HTML and formulas.
"""

import json
import os
import shutil
import zipfile
from pathlib import Path

from labs.definition.assignment import ANSWERS
from labs.definition.spec import LabSpec
from tests.labs.honest_students import honest
from tests.labs.student import Student, borrowed, packed, rewritten, sheet, written


def zip_slip(student: Student, _lab: LabSpec, target: Path) -> None:
    borrowed(student, target)
    rewritten(target, lambda _, content: content, {"runs/../../../../../tmp/owned": b"owned"})


def bomb(student: Student, _lab: LabSpec, target: Path) -> None:
    borrowed(student, target)
    rewritten(
        target,
        lambda _, content: content,
        {"runs/sack/raw/seed-1/sack_on/h1-eth0.pcap": bytes(200 << 20)},
    )


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
    rewritten(
        target, lambda name, content: content + b"#" * 3_000_000 if name == ANSWERS else content
    )


def hostile_words(student: Student, lab: LabSpec, target: Path) -> None:
    """Right answers, and a text and a number that are HTML and formulas."""
    assert student.key
    answers = written(lab, student.key)
    answers["silence_off"] = '=HYPERLINK("http://example.org","1")'
    sheet(
        student,
        answers,
        "<script>document.title='owned'</script><img src=x onerror=alert(1)> \u202e @SUM(1+1)*cmd|'"
        " /C calc'!A0",
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
