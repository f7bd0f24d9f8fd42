"""Arguments of networks and programs in words, with types that editors complete and check."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from topologies.errors import UsageError

if TYPE_CHECKING:
    from testbed.virtual.sandbox import Sandbox


class LinkWords(TypedDict, total=False):
    """Values of a direction of a link in words, such as delay="20ms"; see Channel."""

    bandwidth: str
    delay: str
    loss: str
    jitter: str
    queue: str
    discipline: str
    line: str
    processing: str
    gemodel: str


class OptionWords(TypedDict, total=False):
    """The fields of NetworkOptions, as arguments."""

    project: Path | str
    folders: tuple[Path | str, ...]
    root: Path | str | None
    image: bool
    sysctls: Mapping[str, str]
    captures: tuple[str, ...]
    whole_packets: bool
    kernel: str
    clock: str
    memory_mib: int
    patience: float
    cpu: Literal["free", "host"]
    sandbox: type[Sandbox] | None


class NetworkWords(OptionWords, LinkWords, total=False):
    """Options of a network, and values of its link."""


class StartWords(TypedDict, total=False):
    """Options of `Host.start`."""

    port: int | None
    env: Mapping[str, str] | None
    cwd: Path | str | None
    user: tuple[int, int]
    input: str


Argv = str | Sequence[str | Path]
"""A program and its arguments; text is split as a shell does."""


def words_of(argv: Argv) -> tuple[str, ...]:
    """Return program and arguments. Raises UsageError."""
    if not isinstance(argv, str):
        return tuple(map(str, argv))
    try:
        return tuple(shlex.split(argv))
    except ValueError as error:
        problem = f"'{argv[:40]}' has {str(error).lower()}."
        raise UsageError(problem, 'Add it, or write a list such as ["ls", "-l"].') from error
