"""Build steps: each command runs sealed off by bubblewrap, with its output in a log.

A command sees the machine read-only and one folder to write to, always under the same path, with a
fixed environment; it dies with this process.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from topologies.errors import CommandError, TcplabError

FOLDER = "/tmp/tcplab"  # the workshop's folder as a sealed command finds it

ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "HOME": "/tmp"}
ENVIRONMENT["SOURCE_DATE_EPOCH"] = "0"
# A kernel's configuration notes their versions, and its bytes depend on that: measured with rustc.
_UNSEEN = ("rustc", "bindgen", "pahole")
PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy")


class BuildReport:
    """The progress of a build, which this class does not show; subclasses do."""

    def note(self, text: str) -> None:
        """Say something that stays to be read."""

    def step(self, text: str, share: float | None = None) -> None:
        """Say what is going on now, and which share of it (0 to 1) is done if that is known."""


class LineReport(BuildReport):
    """A line when a step begins, and one every `interval` seconds; a terminal keeps the last."""

    def __init__(self, stream: TextIO, interval: float = 15.0) -> None:
        self.stream, self.is_terminal = stream, stream.isatty()
        self.interval = 1.0 if self.is_terminal else interval
        self.text, self.began, self.printed = "", 0.0, 0.0

    def note(self, text: str) -> None:
        self._print(text, "\n")

    def step(self, text: str, share: float | None = None) -> None:
        now, end = time.monotonic(), "\r" if self.is_terminal else "\n"
        if text != self.text:
            self.text, self.began, self.printed = text, now, now
            self._print(f"{text} ...", end)
        elif now - self.printed >= self.interval:
            self.printed = now
            self._print(f"{text}: {progress_text(now - self.began, share)}", end)

    def _print(self, text: str, end: str) -> None:
        erase = "\x1b[K" if self.is_terminal else ""
        print(text, end=erase + end, file=self.stream, flush=True)


def progress_text(elapsed: float, share: float | None) -> str:
    """Return seconds gone, and from the share done (0 to 1) the seconds to come."""
    if not share:
        return f"{elapsed:.0f} s so far"
    return f"{share:.0%}, about {elapsed * (1 - share) / share:.0f} s left"


@contextmanager
def shown(stream: TextIO) -> Iterator[BuildReport]:
    """Provide a report on `stream`, of which a terminal keeps the notes."""
    report = LineReport(stream)
    yield report
    if report.is_terminal:
        report._print("", "\r")


@dataclass(frozen=True)
class Workshop:
    """A folder to build in, the log of its commands, which outlives the folder, and a report."""

    folder: Path
    log: Path
    report: BuildReport
    bubblewrap: tuple[str, ...] = ("bwrap",)

    def run(
        self,
        text: str,
        command: Sequence[str],
        *,
        source: Path = Path(os.devnull),
        environment: Mapping[str, str] | None = None,
        network: bool = False,
        bare: bool = False,
        share: Callable[[], float] | None = None,
    ) -> str:
        """Run `command` sealed and return what it printed. Raises CommandError.

        `source` is its standard input, `network` gives it the machine's network, `bare` hides all
        of the machine but its programs, `share` says how much of it is done.
        """
        before = self.log.stat().st_size if self.log.exists() else 0
        self.report.step(text)
        command_line = [*self._sealed(bare, network, environment or {}), "--", *command]
        with self.log.open("ab") as log, source.open("rb") as given:
            process = subprocess.Popen(
                command_line, stdin=given, stdout=log, stderr=log, start_new_session=True
            )
        try:
            while True:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.2)
                    break
                self.report.step(text, share() if share else None)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()
        printed = self.log.read_bytes()[before:].decode(errors="replace")
        if process.returncode:
            remedy = f"The whole log is {self.log}."
            raise CommandError(" ".join(command), process.returncode, printed, remedy)
        return printed

    def _sealed(self, bare: bool, network: bool, environment: Mapping[str, str]) -> list[str]:
        """Return bubblewrap and its arguments; with `network`, the proxies are set too."""
        seen = _programs() if bare else [*_machine(), *(["--share-net"] if network else [])]
        seen += ["--bind", str(self.folder), FOLDER, "--chdir", FOLDER]
        names = [*PROXIES, *map(str.upper, PROXIES)] if network else []
        proxies = {name: os.environ[name] for name in names if name in os.environ}
        for name, value in {**ENVIRONMENT, **proxies, **environment}.items():
            seen += ["--setenv", name, value]
        return [*self.bubblewrap, "--unshare-all", "--die-with-parent", "--clearenv", *seen]


def _machine() -> list[str]:
    places = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    for program in (os.path.realpath(f"/usr/bin/{name}") for name in _UNSEEN):
        places += ["--ro-bind", "/dev/null", program] if os.path.isfile(program) else []
    return places


def _programs() -> list[str]:
    """Return the arguments for a command that reads untrusted files; no /proc, no paths."""
    roots = [Path("/", name) for name in ("bin", "sbin", "lib", "lib32", "lib64")]
    seen: list[str] = []
    # The last: links that say which awk is meant.
    for place in (Path("/usr"), *roots, Path("/etc/alternatives")):
        if place.is_symlink():
            seen += ["--symlink", os.readlink(place), str(place)]
        elif place.is_dir():
            seen += ["--ro-bind", str(place), str(place)]
    return [*seen, "--dev", "/dev", "--tmpfs", "/tmp"]


def need_space(folder: Path, size: int) -> None:
    """Raises TcplabError when the file system of `folder` has fewer than `size` bytes free."""
    free = shutil.disk_usage(folder).free
    if free < size:
        needed = f"The build needs {size / 1e9:.1f} GB in {folder} for a while"
        remedy = "Make room, or name another folder in TCPLAB_CACHE."
        raise TcplabError(f"{needed}, and {free / 1e9:.1f} GB are free.", remedy)
