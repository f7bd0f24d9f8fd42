"""Docstrings, messages, documentation and commit subjects follow the style of the project.

`python tests/style/test_english.py [FOLDER ...]` prints each offender, the number of them in each
folder, and the voice of the docstrings.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("topologies", "testbed", "experiments", "analysis", "labs")
FIRST_COMMIT = "9d9e5a07"
"""Subjects of later commits are checked."""
FIRST_WORD, BANNED_WORD = "first word of a docstring", "banned word"
"""The rules of texts."""

_FIRST_WORD = re.compile(
    r"(?:What|Whatever|Whether|Whose|Whom|Who|Which|How|Where|When|Why|The same)\b"
)
_BANNED = re.compile(
    r"\b(?:nothing|nobody|whoever|anew|besides?|mend(?:s|ed|ing)?|yours|ours|theirs)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"^ *```.*?^ *```$|^(?: {4}.*\n)+|`[^`]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
_SUBJECT = re.compile(r"(?:[a-z][\w-]*)(?:, [\w-]+)*: \S.*")
_MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|work|root|tmp|Users|srv|opt|mnt)/")
_VOICE = {
    "nothing/nobody/none/whoever": r"\b(?:[Nn]othing|[Nn]obody|none|[Ww]hoever)\b",
    "sentences that begin What/Whether/Which/How": (
        r"(?:^|(?<=[.!?]\s))(?:What|Whether|Which|How)\b"
    ),
    "own": r"\bown\b",
    "beside": r"\bbeside\b",
    "tell/told": r"\b(?:tell|tells|told)\b",
}


class Offender(NamedTuple):
    """A text that breaks a rule, with its place."""

    place: str
    rule: str
    words: str

    def __str__(self) -> str:
        return f"{self.place}: {self.words} ({self.rule})"


def offenders(root: Path = ROOT) -> Iterator[Offender]:
    """Find all texts of the product and its documentation that break a rule."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            for line, rule, words in _of_module(path):
                yield Offender(f"{path.relative_to(root)}:{line}", rule, words)
    for path in (*sorted((root / "docs").rglob("*.md")), *root.glob("[RC][EO][AN]*.md")):
        for line, rule, words in _of_page(path.read_text(encoding="utf-8")):
            yield Offender(f"{path.relative_to(root)}:{line}", rule, words)


def _of_module(path: Path) -> Iterator[tuple[int, str, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = set()
    for node in _documented(tree):
        documentation = ast.get_docstring(node)
        if not documentation:
            continue
        text = node.body[0]
        docstrings.add(id(text.value))  # type: ignore[attr-defined]
        if not isinstance(node, ast.Module) and (found := _FIRST_WORD.match(documentation)):
            yield text.lineno, FIRST_WORD, f"{node.name} begins with {found[0]!r}"
        yield from _banned(documentation, text.lineno)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in docstrings:
            continue
        if isinstance(node.value, str) and " " in node.value.strip():
            yield from _banned(node.value, node.lineno)


def _documented(
    tree: ast.Module,
) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _of_page(text: str) -> Iterator[tuple[int, str, str]]:
    """Check a page of Markdown without its code and links."""
    plain = _CODE.sub(lambda found: "\n" * found[0].count("\n"), text)
    yield from _banned(plain, 1)


def _banned(text: str, first_line: int) -> Iterator[tuple[int, str, str]]:
    for found in _BANNED.finditer(text):
        yield first_line + text.count("\n", 0, found.start()), BANNED_WORD, found[0]


def voice(root: Path) -> dict[str, float]:
    """Count words of the voice per 10,000 words of docstrings."""
    texts = [
        documentation
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
        for node in _documented(ast.parse(path.read_text(encoding="utf-8")))
        if (documentation := ast.get_docstring(node))
    ]
    whole = " ".join(texts)
    return {
        row: 1e4 * len(re.findall(pattern, whole, re.MULTILINE)) / len(whole.split())
        for row, pattern in _VOICE.items()
    }


def subjects(root: Path = ROOT) -> Iterator[tuple[str, bool]]:
    """Read the subjects of the commits after FIRST_COMMIT, and which of them are merges."""
    listed = subprocess.run(
        ["git", "log", "--format=%p%x09%s", f"{FIRST_COMMIT}..HEAD"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode != 0:
        pytest.skip("this checkout lacks the commit from which subjects are checked")
    for line in listed.stdout.splitlines():
        parents, _, subject = line.partition("\t")
        yield subject, " " in parents


def test_docstrings_begin_with_a_verb_or_a_noun_phrase() -> None:
    assert _listed(FIRST_WORD) == ""


def test_texts_are_without_banned_words() -> None:
    assert _listed(BANNED_WORD) == ""


def _listed(rule: str) -> str:
    return "\n".join(str(each) for each in offenders() if each.rule == rule)


def test_commit_subjects_name_their_area() -> None:
    for subject, is_merge in subjects():
        assert not is_merge, f"{subject}: rebase instead of merging"
        assert len(subject) <= 72, f"{subject}: longer than 72 characters"
        assert _SUBJECT.fullmatch(subject), f"{subject}: lacks `area: ` at its beginning"
        assert not _MACHINE_PATH.search(subject), f"{subject}: names a path of a machine"


@pytest.mark.parametrize(
    ("source", "rule", "words"),
    [
        ('def f():\n    """Whether it runs."""', FIRST_WORD, "f begins with 'Whether'"),
        ('def f():\n    """Return nobody."""', BANNED_WORD, "nobody"),
        ('raise ValueError("Begin anew.")', BANNED_WORD, "anew"),
    ],
)
def test_an_offender_is_found(tmp_path: Path, source: str, rule: str, words: str) -> None:
    (tmp_path / "labs").mkdir()
    (tmp_path / "labs/module.py").write_text(source)
    (found,) = offenders(tmp_path)
    assert (found.rule, found.words) == (rule, words) and found.place.startswith("labs/module.py:")


def test_code_and_links_of_a_page_are_free(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs/page.md"
    page.write_text("`nobody` in [code](nothing.md)\n\n```text\nanew\n```\n\nmend it\n")
    (found,) = offenders(tmp_path)
    assert str(found) == "docs/page.md:7: mend (banned word)"


def _print(arguments: list[str]) -> None:
    """Print the offenders of some folders, or all counts; --root FOLDER reads another checkout."""
    root = ROOT
    if "--root" in arguments:
        place = arguments.index("--root")
        root = Path(arguments[place + 1])
        del arguments[place : place + 2]
    found = list(offenders(root))
    for offender in found:
        if any(offender.place.startswith(name.rstrip("/") + "/") for name in arguments):
            print(offender)
    for folder, count in Counter(each.place.partition("/")[0] for each in found).items():
        print(f"{folder}: {count}")
    for row, figure in voice(root).items():
        print(f"{row}: {figure:.0f} per 10,000 words of docstrings")


if __name__ == "__main__":
    _print(sys.argv[1:])
