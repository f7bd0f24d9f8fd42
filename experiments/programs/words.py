"""Arguments of networks and programs in words, with types that editors complete and check."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from topologies.errors import UsageError
from topologies.faults import Flag, Protocol

if TYPE_CHECKING:
    from experiments.programs.capture import CapturedConnection
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
    order: Literal["free", "kept"]
    policer: str
    policer_burst: str


Side = Literal["both", "right", "left"]


class FaultWords(TypedDict, total=False):
    """The packets that a fault hits, and when; all packets, from now on, if empty.

    `port` and `address` are those of either end, `connection` is one of a capture. `flag` is one of
    TCP's, or "data" for segments with payload. A packet is `larger` or `smaller` than bytes of IP.
    Of those that match, the `nth` is hit, or `count` from it on, each with the chance `share`;
    each port counts for itself. The fault begins `at` a time from now, and lasts `for_` a time.
    """

    protocol: Protocol
    port: int
    address: str
    connection: CapturedConnection
    flag: Flag
    larger: str
    smaller: str
    nth: int
    count: int
    share: str
    at: str | float
    for_: str | float | None


def fault_fields(words: FaultWords) -> dict[str, object]:
    """Return fields of a Fault in words. `nth` alone is one packet."""
    fields: dict[str, object] = {
        name: str(value) if isinstance(value, int) else value
        for name, value in words.items()
        if name not in ("port", "address", "connection", "at", "for_")
    }
    if "nth" in words:
        fields.setdefault("count", "1")
    if "port" in words:
        fields["ports"] = [words["port"]]
    if "address" in words:
        fields["addresses"] = [words["address"]]
    if connection := words.get("connection"):
        for name, column in (("ports", "port"), ("addresses", "host")):
            fields[name] = [connection[f"{column}_{end}"] for end in "ab"]
    return fields


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


Argv = str | Sequence[str | Path]  # a program and its arguments; text is split as a shell does


def words_of(argv: Argv) -> tuple[str, ...]:
    """Return program and arguments. Raises UsageError."""
    if not isinstance(argv, str):
        return tuple(map(str, argv))
    try:
        return tuple(shlex.split(argv))
    except ValueError as error:
        problem = f"'{argv[:40]}' has {str(error).lower()}."
        raise UsageError(problem, 'Add it, or write a list such as ["ls", "-l"].') from error
