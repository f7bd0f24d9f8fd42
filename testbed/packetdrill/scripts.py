"""packetdrill scripts with the files that they call, and packetdrill's message about a failure.

A script may come from a stranger: it runs in a guest only. packetdrill's last message (die() in its
logging.c) has script and line, and of a packet the expected and the actual one.
"""

import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from topologies.errors import UsageError
from topologies.untrusted import plain

LONGEST = 1 << 20
"""Bytes of a script or of a file that it calls; the longest of the kernel's has 12 000."""
_MOST_SCRIPTS = 5000
_WORD = re.compile(r"[\w.+-]+")
SUFFIX = ".pkt"


@dataclass(frozen=True)
class Script:
    """A script: its name, its text, and files next to it that it may call, by name."""

    name: str
    text: str
    beside: Mapping[str, bytes]

    @property
    def file(self) -> str:
        """The name of its file in the guest, which packetdrill's messages have."""
        return Path(self.name).name

    def line(self, number: int) -> str:
        """Return the text of a line, from 1."""
        lines = self.text.splitlines()
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def files(self) -> dict[str, bytes]:
        """Itself and what it calls, by name."""
        return {**self.beside, self.file: self.text.encode()}


def scripts_in(places: tuple[Path, ...], helpers: Mapping[str, bytes]) -> list[Script]:
    """Return the scripts of files and folders, with `helpers` that they call. Raises UsageError."""
    found: list[Path] = []
    for place in places:
        inside = sorted(filter(Path.is_file, place.rglob(f"*{SUFFIX}"))) if place.is_dir() else []
        if place.is_dir() and not inside:
            raise UsageError(f"{place} holds no script.", f"A script's name ends in {SUFFIX}.")
        found += inside or [place]
    if len(found) > _MOST_SCRIPTS:
        raise UsageError(f"{len(found)} scripts are too many at once.", "Name a folder with fewer.")
    return [_script(file, helpers) for file in found]


def _script(file: Path, helpers: Mapping[str, bytes]) -> Script:
    content = _small(file)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise UsageError(f"{file} is no script: it is not text.", "Name a packetdrill script.")
    if not text.strip():
        raise UsageError(f"{file} is empty.", "Name a packetdrill script.")
    near = {other.name: other for other in file.resolve().parent.iterdir() if other.is_file()}
    words = called(text)
    beside = {other: content for other, content in helpers.items() if other in words}
    beside |= {other: _small(place) for other, place in near.items() if other in words}
    return Script(str(file), text, beside)


def called(text: str) -> set[str]:
    """Return all words of a script that may be names of files that it calls; no scripts."""
    return {word for word in _WORD.findall(text) if not word.endswith(SUFFIX)}


def _small(file: Path) -> bytes:
    """Return the content of a regular file. Raises UsageError."""
    try:
        if not file.is_file():
            why = f"{file} is no regular file" if file.exists() else f"There is no file {file}"
            raise UsageError(f"{why}.", "Name a packetdrill script, or a folder of them.")
        with file.open("rb") as opened:
            content = opened.read(LONGEST + 1)
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from None
    if len(content) > LONGEST:
        raise UsageError(f"{file} is too long for a script: more than {LONGEST >> 20} MiB.")
    return content


_LONGEST = 400  # characters of a message's line
_SHOWN, _BEFORE = 8, 3  # lines of an output without a message, and before a failed command's
_PLACE = r"^(?:\S*/)?{script}:(?:(?P<line>\d+):)? *(?P<what>.*)$"
_PACKET = re.compile(r"^ *(script|actual)(?: #\d+)? packet: +(.*?) *$", re.MULTILINE)
_RESULT = re.compile(r"[Ee]xpected (?:result )?(.+?) but got (.+)")
_ERRNO = re.compile(r"(?<=\d) with errno .*")
_TIMING = re.compile(r"timing error: expected (.+?) but happened at (.+)")
_SECONDS = r"([\d.]+) sec"
_LATENESS = re.compile(
    rf"timing error: expected (.+) at {_SECONDS} but happened at {_SECONDS}; tolerance {_SECONDS}"
)
_FIELD = re.compile(r"(?:live packet field )?(.+?): expected: (.+?) (?:vs )?actual: (.+)")
_RAISED = re.compile(
    r"^ *(?P<code>\S.*)\n(?: +[~^]+\n)?(?P<error>\w+(?:Error|Exception)\b.*)$", re.MULTILINE
)
_WARNING = "warning handling packet: "
_BEGINNINGS = {
    "error handling packet: ": "",
    "runtime error in ": "",
    "semantic error: ": "this line has no meaning: ",
    "parse error at ": "this line cannot be read at ",
}
"""How packetdrill begins, and what stands for it."""


@dataclass(frozen=True)
class ScriptFailure:
    """A failed script: its `line` if known, and what was `expected` and `came` if said."""

    line: int | None
    what: str
    expected: str = ""
    came: str = ""


def failure_of(output: str, script: str, status: int) -> ScriptFailure:
    """Return the failure of a script at the end of packetdrill's output; `status` is not 0."""
    text = plain(output)
    if status < 0:
        known = {int(each): each.name for each in signal.Signals}
        name = known.get(-status, f"signal {-status}")
        return ScriptFailure(None, f"packetdrill was ended by {name}: {_last(text)}")
    places = re.compile(_PLACE.format(script=re.escape(script)), re.MULTILINE)
    said = [match for match in places.finditer(text) if not match["what"].startswith(_WARNING)]
    if not said:
        return ScriptFailure(None, _last(text))
    numbered = [match for match in said if match["line"]]
    return _explained((numbered or said)[-1], text)


def _explained(match: re.Match[str], text: str) -> ScriptFailure:
    line = int(match["line"]) if match["line"] else None
    what, after = match["what"][:_LONGEST], text[match.end() :]
    for beginning, instead in _BEGINNINGS.items():
        if what.startswith(beginning):
            what = instead + what.removeprefix(beginning)
    if what == "error in Python code":
        raised = _RAISED.search(after)
        words = f"{raised['code']} ({raised['error']})" if raised else _last(after)
        return ScriptFailure(line, f"the Python code does not hold: {words[:_LONGEST]}")
    if what.startswith("error executing"):
        return ScriptFailure(line, "\n".join([what, *_lines(text[: match.start()])[-_BEFORE:]]))
    return _compared(line, what, after)


def _compared(line: int | None, what: str, after: str) -> ScriptFailure:
    """Explain the difference: packets below the message, or values within it."""
    packets = [(kind, packet[:_LONGEST]) for kind, packet in _PACKET.findall(after)]
    expected = "\n".join(packet for kind, packet in packets if kind == "script")
    came = "\n".join(packet for kind, packet in packets if kind == "actual")
    if timing := _TIMING.fullmatch(what):
        what = _lateness(what)
        if not expected:
            expected, came = timing[1], timing[2]
    elif field := _FIELD.fullmatch(what):
        what = f"{field[1]} is {field[3]}, not {field[2]}"
    call, is_call, reason = what.partition(" call: ")
    if not is_call:
        return ScriptFailure(line, what, expected, came)
    if result := _RESULT.fullmatch(reason):
        returned = result[2] if result[2].startswith("-") else _ERRNO.sub("", result[2])
        return ScriptFailure(line, f"{call}() returned another value", result[1], returned)
    return ScriptFailure(line, f"{call}(): {reason}", expected, came)


def _lateness(what: str) -> str:
    """Return a timing error in milliseconds."""
    if not (times := _LATENESS.fullmatch(what)):
        return what.removeprefix("timing error: ")
    expected, came, tolerance = (1000 * float(text) for text in times.groups()[1:])
    difference = f"{abs(came - expected):.3f} ms too {'late' if came > expected else 'early'}"
    return f"{times[1]} came {difference}, and {tolerance:.3f} ms are allowed"


def _lines(text: str) -> list[str]:
    return [line[:_LONGEST] for line in text.splitlines() if line.strip()]


def _last(text: str) -> str:
    return "\n".join(_lines(text)[-_SHOWN:]) or "no output"
