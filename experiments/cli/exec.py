"""`tcplab exec -- COMMAND`: a command in h1 and a server in h2, with a bad network in between."""

import itertools
import re
import shlex
import shutil
import sys
import time
import webbrowser
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click

from experiments.cli.options import link_options, options
from experiments.programs.capture import write_page
from experiments.programs.network import Host, Network
from experiments.programs.program import ProgramFailed
from experiments.programs.start import (
    AGAIN,
    CLOCK,
    NetworkOptions,
    compared,
    require_virtual,
    started,
)
from experiments.programs.words import words_of
from experiments.run.store import require_writable
from experiments.spec import DEFAULT_KERNEL, LinkParameters, parameter
from testbed.guest.packet_ring import EMPTY
from topologies.data import to_data
from topologies.errors import TcplabError, UsageError
from topologies.shapes import two_hosts
from topologies.units import Duration, Rate, Share

_SERVER_STARTS = "30s"
_TIMED_OUT = 124  # as timeout(1)
_PLACE = re.compile(r"\b(?:(\w+)://)?(?:[^\s/@]*@)?(?:ip6-)?h2\b(?::(\d{1,5}))?")
_SCHEMES = {"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "redis": 6379}


@dataclass(frozen=True)
class ExecLink(LinkParameters):
    """A fast link without delay and loss, unless they are asked for."""

    bw: Rate = parameter("100mbit", Rate, "Rate of the link, each way.")
    delay: Duration = parameter("0s", Duration, "Delay of the link, each way.")
    loss: Share = parameter("0%", Share, "Packets that the link loses at random, each way.")


def _outage(text: str) -> tuple[Duration, Duration]:
    """Read AT,FOR: a time from the start of the command, and for how long."""
    at, comma, lasts = text.partition(",")
    if not comma:
        raise UsageError(f"'{text}' is no outage.", "Write AT,FOR such as 1s,4s.")
    return Duration.parse(at), Duration.parse(lasts)


class Asked(NamedTuple):
    """The programs of a call, the server's ports, the outages, and the virtual time at most."""

    command: tuple[str, ...]
    server: tuple[str, ...] | None
    ports: tuple[int, ...]
    outages: tuple[tuple[Duration, Duration], ...]
    timeout: Duration


@click.command("exec")
@click.argument("command", nargs=-1, required=True)
@options("exec", server={"type": words_of}, outages={"type": _outage}, clock={"default": CLOCK})
def execute(
    loopback: bool,
    seed: int,
    is_twice: bool,
    opens: bool,
    out: Path,
    kernel: str | None,
    **given: Any,
) -> None:
    """Run your client and server over a bad network, in virtual time.

    COMMAND runs in host h1, the server in h2. Both see this computer's programs and this folder,
    read-only. Exits with the status of COMMAND, or 1 if --twice finds a difference.
    """
    asked = Asked(*(given.pop(name) for name in Asked._fields))
    named = {name: given.pop(name) for name in ("folders", "root", "whole_packets", "clock", "cpu")}
    options = NetworkOptions(kernel=kernel or DEFAULT_KERNEL, **named)
    if is_twice:
        require_virtual(options.cpu)
    begun = time.monotonic()
    _clear(out)
    require_writable(out)
    channel = ExecLink(**given).channel()
    runs: list[tuple[Network, int]] = []

    def start(folder: Path) -> AbstractContextManager[Network]:
        return started(two_hosts(channel), seed, folder, options)

    def run(network: Network) -> None:
        if loopback:
            network.order("loopback", host="h1", values=to_data(channel))
        runs.append((network, _carried_out(network, asked, aloud=not runs)))

    found: list[str] = []
    if is_twice:
        found = compared(run, start, out)
    else:
        with start(out) as running:
            run(running)
    network, status = runs[0]
    took = f"{network.now:.6f} s in {time.monotonic() - begun:.1f} s"
    sentences = [f"{took}, seed {seed}, captures in {out}"]
    if network.unrepeatable:
        sentences.append(f"this run is not repeatable: {network.unrepeatable}.")
    sentences += [f"{sentence}." for sentence in (*network.waits, *network.notes)]
    sentences += [f"this run may not repeat: {reason}." for reason in network.doubts]
    if found:
        sentences += ["the second run differs.", *found]
    elif is_twice and any(file.stat().st_size > EMPTY for file in out.glob("*.pcap")):
        sentences.append("the second run is equal: captures, output and exit status.")
    elif is_twice:
        sentences.append("the second run is equal: output and exit status; no packet was sent.")
    for sentence in sentences:
        _say(sentence)
    if opens:
        page = write_page(out, shlex.join(asked.command))
        click.echo(page, err=True)
        if not webbrowser.open(page.resolve().as_uri()):
            _say("no browser could be started: open that file in one.")
    sys.exit(status or bool(found))


execute.params += link_options(ExecLink)


def _carried_out(network: Network, asked: Asked, aloud: bool) -> int:
    """Run both programs, print the command's output if `aloud`, and return its status."""
    serving = network.h2.start(asked.server) if asked.server else None
    if serving and (closed := _closed_port(network.h2, asked.command, asked.ports)):
        problem = str(serving.failed(f"does not listen on {closed}")).rstrip()
        raise TcplabError(f"{problem}\n", "" if serving.lack() else "Try it without tcplab.")
    for at, lasts in asked.outages:
        network.link.down(at=str(at), for_=str(lasts))
    program = network.h1.start(asked.command)

    def show() -> None:
        for name, text in program.unseen() if aloud else ():
            getattr(sys, name).write(text)
            getattr(sys, name).flush()

    show()
    try:
        program.wait(str(asked.timeout), show)
    except ProgramFailed as error:
        if aloud:
            _say(str(error).splitlines()[0])
    for sentence in program.lack() if aloud else ():
        _say(sentence)
    return _TIMED_OUT if program.status is None else program.status


def _closed_port(server: Host, command: tuple[str, ...], ports: tuple[int, ...]) -> str:
    """Wait for the server, and return the port that stays closed, in words; empty if none does."""
    for port in ports:
        if not server.listens(port, _SERVER_STARTS):
            return f"port {port}"
    if not ports and (named := named_port(command)) and server.listens(named, _SERVER_STARTS):
        return ""
    return "" if ports or server.listens(None, _SERVER_STARTS) else "any port"


def named_port(command: tuple[str, ...]) -> int | None:
    """Return the port of h2 in a URL or in h2:80; None if there is none."""
    for scheme, port in _PLACE.findall(" ".join(command)):
        if port or scheme in _SCHEMES:
            return int(port or _SCHEMES[scheme])
    return None


def _say(sentence: str) -> None:
    click.echo(f"tcplab: {sentence}", err=True)


def _clear(out: Path) -> None:
    """Remove the captures of the last time. Raises UsageError for a folder of anything else."""
    if not out.exists():
        return
    names = ("*.pcap", "console.log", "job.log", "events.jsonl", "result.json", "graphs.html")
    known = (*names, f"{out.name}/{AGAIN}")
    files = itertools.chain(out.iterdir(), (out / AGAIN).glob("*"))
    if strange := [file for file in files if not any(map(file.match, known))]:
        raise UsageError(f"{strange[0]} is in the way.", "Choose another --out.")
    shutil.rmtree(out)
