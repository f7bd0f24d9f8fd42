"""The engines that read captures: which are installed, and what one hands over."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from topologies.foundation.errors import TcplabError, UsageError

if TYPE_CHECKING:
    from analysis.flows.engine_columns import Handed

Engine = Literal["auto", "compiled", "plain"]
_PREFIX = __name__.removesuffix("analysis.flows.installed_engines")
ENGINES: dict[Engine, str] = {
    "compiled": f"{_PREFIX}analysis.flows._core",
    "plain": f"{_PREFIX}analysis.flows.plain",
}
"""The module of each engine, in the order in which `auto` takes them."""
EnginePeriod = tuple[tuple[int, bool], tuple[int, bool]]


class CaptureFollower(Protocol):
    """An engine's part that takes a capture piece by piece.

    Of more than `most` connections it forgets the half that is silent longest.
    """

    def __init__(self, most: int, /) -> None: ...

    def feed(self, octets: bytes, /) -> None:
        """The next octets. Raises ValueError if it is no capture."""

    def end(self) -> None:
        """No more octets come: what is not whole is damage."""

    def results(self) -> dict[str, Any]:
        """As `analyse` of what came so far, and the number of connections with those forgotten."""


class Analyser(Protocol):
    """An engine: a module with these functions and this class."""

    Follower: type[CaptureFollower]

    def analyse(
        self, path: str, packets: bool, compatible: bool, period: EnginePeriod | None
    ) -> dict[str, Any]:
        """The file's facts, `connections` as columns, and `packets_pieces`.

        analysis.flows.engine_columns describes the columns.
        """

    def lines(self, columns: Sequence[Handed]) -> str:
        """Columns of connections as lines of CSV."""


def handed_over(
    path: Path,
    packets: bool = False,
    engine: Engine = "auto",
    compatible: bool = False,
    period: EnginePeriod | None = None,
) -> dict[str, Any]:
    """What the engine of that name hands over of the capture at `path`, which may be a pipe.

    Raises TcplabError if it cannot be read, UsageError for an engine that is not there.
    """
    analyser = find_engine(engine)
    try:
        with _seekable(path) as file:
            return analyser.analyse(str(file), packets, compatible, period)
    except OSError as error:
        raise TcplabError(
            f"{path} cannot be read ({error.strerror or error}).", "Check the path."
        ) from error
    except ValueError as error:
        why = "" if str(error) == "no capture" else f" ({error})"
        raise TcplabError(
            f"{path} is no capture{why}.",
            "It must be pcap or pcapng; gzip, zstd, bzip2, xz and lz4 are unpacked.",
        ) from error


@contextmanager
def _seekable(path: Path) -> Iterator[Path]:
    """The file itself; a pipe is first kept in a temporary file, as the engines go back in it."""
    if not path.is_fifo():
        yield path
        return
    # A small capture is read in less time than these load.
    import shutil
    from tempfile import NamedTemporaryFile

    with path.open("rb") as pipe, NamedTemporaryFile(prefix="tcplab-") as kept:
        shutil.copyfileobj(pipe, kept)
        kept.flush()
        yield Path(kept.name)


def find_engine(engine: Engine) -> Analyser:
    """The engine of that name; `auto` takes the compiled one if it is installed."""
    if engine not in ("auto", "compiled", "plain"):
        raise UsageError(f"There is no engine {engine!r}.", "Take auto, compiled or plain.")
    for name, module in ENGINES.items():
        if engine in ("auto", name):
            try:
                return importlib.import_module(module)
            except ImportError as error:
                if engine == name:
                    raise UsageError(
                        f"The {name} engine is not installed ({error}).", _REMEDY[name]
                    ) from error
    raise UsageError("No engine is installed.", _REMEDY["compiled"])


_REMEDY = {
    "compiled": "Install Rust's cargo and start ./tcplab again, or take engine='plain'.",
    "plain": "Install tcplab again.",
}


def engines() -> tuple[Engine, ...]:
    """The engines that are installed, the fastest first."""
    return tuple(name for name in ENGINES if _is_installed(name))


def _is_installed(engine: Engine) -> bool:
    try:
        find_engine(engine)
    except UsageError:
        return False
    return True
