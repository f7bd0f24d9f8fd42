"""The recorded stage of the site: a grid of short runs, and a page that plays them.

A download and a call share one link. A piece has the runs that differ in their queue alone; the
page loads a piece when its settings are chosen. The cache keeps pieces by a digest of the grid, the
lab and the code. A site without runs, and a first start, have one file with the first piece alone,
which comes with the code. Run as a program, this module puts today's scripts into it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from analysis.flows.reader import read
from analysis.graphs.stage import Columns, StageTrial, shape_of, stage_data
from analysis.graphs.stored import as_script
from analysis.records.socket_samples import read_samples
from analysis.rendering import page_files
from analysis.traffic.sightings import arrivals, sightings
from experiments.harness.running.seed import carry_seed, judge, limits_for
from experiments.spec import Condition, ExperimentSpec, Flow, Proof
from testbed.host.scratch import scratch
from testbed.jobs.archive import code_digest, fingerprint
from testbed.lab.environment import MEANWHILE
from testbed.lab.ready import Lab
from testbed.recipes import cache
from topologies.foundation import untrusted
from topologies.foundation.errors import TcplabError
from topologies.foundation.units import Duration, Packets, Rate, Share
from topologies.topology_spec import Channel
from topologies.two_hosts import two_hosts

NAME = MEANWHILE.name
LINKS = tuple(product(("2mbit", "10mbit"), ("10ms", "50ms"), ("0%", "1%")))
"""Rate, delay and loss."""
ALGORITHMS = ("cubic", "reno", "bbr")
QUEUES = ("20", "50", "100", "200", "500")
_LENGTH = Duration.parse("4s")
_DOWNLOAD, _CALL = 5001, 5002
_SEED = 1
_WALL_SECONDS = 300.0
_FIRST_RUNS = '<script type="application/json" id="recorded-first">'
_ALONE = "This file has one link; the site that ./tcplab docs builds has the other settings."


@dataclass(frozen=True)
class Piece:
    """The runs of one link and congestion control, with each queue."""

    link: tuple[str, str, str]
    algorithm: str

    @property
    def name(self) -> str:
        """The name of the choice on the page."""
        return "-".join((*self.link, self.algorithm)).replace("%", "")

    @property
    def file(self) -> str:
        return f"{self.name}.js"


_FIRST = Piece(("10mbit", "10ms", "0%"), "reno")


def recorded(lab: Lab, report: Callable[[str], None]) -> dict[str, Path]:
    """Return the page and the pieces by their names in the site, after recording missing ones.

    `report` gets a line when recording begins. Raises TcplabError if a run fails.
    """
    folder = _folder(lab)
    pieces = [Piece(link, algorithm) for link in LINKS for algorithm in ALGORITHMS]
    missing = dict.fromkeys(each.link for each in pieces if not (folder / each.file).exists())
    if missing:
        report(f"Recording: {len(missing) * len(QUEUES) * len(ALGORITHMS)} runs of the stage")
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as turns:
            list(turns.map(lambda link: _record(link, lab, folder), missing))
    files = {f"recorded/{each.file}": folder / each.file for each in pieces}
    call = (folder / _FIRST.file).read_text(encoding="utf-8")  # of a function of the page
    first = call.partition(", ")[2].removesuffix(");\n")
    pages = {
        "whole.html": page_of(first, [each.name for each in pieces]),
        NAME: page_of(first, [_FIRST.name], _ALONE),
    }
    page_files.write(folder, ((name, text.encode()) for name, text in pages.items()), "docs")
    return {NAME: folder / "whole.html", f"recorded/{NAME}": folder / NAME, **files}


def page_of(first: str, names: Iterable[str], note: str = "") -> str:
    """Return the page with the script of the `first` piece inside; `names` are loaded later."""
    rates, delays, losses = (list(dict.fromkeys(values)) for values in zip(*LINKS, strict=True))
    axes = {"rate": rates, "delay": delays, "loss": losses, "sender": ALGORITHMS, "queue": QUEUES}
    grid = {
        "axes": axes,
        "first": (*_FIRST.link, _FIRST.algorithm),
        "pieces": list(names),
        "note": note,
    }
    return page_files.render("recorded.html", {"grid": as_script(grid), "first": first})


def kept_again() -> str:
    """Return the page that comes with the code, with its runs in today's templates."""
    _, _, rest = MEANWHILE.read_text(encoding="utf-8").partition(_FIRST_RUNS)
    return page_of(rest.partition("</script>")[0], [_FIRST.name], _ALONE)


def _folder(lab: Lab) -> Path:
    """Return the folder of the cache for what this lab and code record."""
    words = (LINKS, ALGORITHMS, QUEUES, lab.digests["whole"], code_digest(), fingerprint(__name__))
    return cache.folder() / "recorded" / hashlib.sha256(repr(words).encode()).hexdigest()[:16]


def _record(link: tuple[str, str, str], lab: Lab, folder: Path) -> None:
    """Run a link with each queue, and write its pieces."""
    trials: dict[str, list[StageTrial]] = {algorithm: [] for algorithm in ALGORITHMS}
    for queue in QUEUES:
        spec = study(link, queue)
        with scratch(in_memory=True) as raw:
            carry_seed(spec, _SEED, raw, limits_for(spec, _WALL_SECONDS), lab, lambda *_: None)
            if failures := judge(spec, _SEED, raw).failures:
                raise TcplabError(f"A recorded run is not usable: {' '.join(failures)}")
            for algorithm, made in trials.items():
                made.append(_trial(raw / algorithm, spec))
    for algorithm, made in trials.items():
        piece = Piece(link, algorithm)
        text = f"recordedPiece({json.dumps(piece.name)}, {stage_data(made)});\n"
        page_files.write(folder, [(piece.file, text.encode())], "docs")


def study(link: tuple[str, str, str], queue: str) -> ExperimentSpec:
    """Return a download and a call over one link, under each congestion control."""
    rate, delay, loss = link
    channel = Channel(
        Rate.parse(rate), Duration.parse(delay), Share.parse(loss), queue=Packets.parse(queue)
    )
    return ExperimentSpec(
        "recorded",
        "",
        two_hosts(channel),
        (
            Flow("download", "h1", "h2", _LENGTH, port=_DOWNLOAD),
            Flow("call", "h1", "h2", _LENGTH, port=_CALL, traffic="call"),
        ),
        tuple(
            Condition(
                name,
                name,
                (("net.ipv4.tcp_congestion_control", name),),
                (Proof("congestion_control", name),),
            )
            for name in ALGORITHMS
        ),
        captures=("h1-eth0", "h2-eth0"),
        sampling=Duration.parse("20ms"),
    )


def _trial(folder: Path, spec: ExperimentSpec) -> StageTrial:
    ends = [read(folder / f"{host}-eth0.pcap", packets=True).packet_table for host in ("h1", "h2")]
    near, far = (table.rows(table["connection"].values == 1) for table in ends if table is not None)
    shape = shape_of(spec.topology, "h1", "h2", drawn=int(QUEUES[-1]))
    lines = untrusted.text(folder, "h1.sockets.jsonl").splitlines()
    sampled = read_samples(lines, _DOWNLOAD)
    return StageTrial("", near, far, True, shape, sampled, _calls(folder))


def _calls(folder: Path) -> Columns:
    """Return the datagrams of the call: when each was sent and arrived, and its size."""
    ends: list[Any] = []
    for host in ("h1", "h2"):
        seen = sightings(folder, f"{host}-eth0.pcap")
        if seen is None:
            raise TcplabError("A capture of a recorded run cannot be read.", "Run it again.")
        ends.append(seen.only(seen.ports & 0xFFFF == _CALL))
    sent, came = ends
    place = arrivals(sent, came)
    times = np.append(came.time, -1)
    return {"sent": sent.time, "arrived": times[place], "length": sent.length.astype(np.int64)}


if __name__ == "__main__":
    MEANWHILE.write_text(kept_again(), encoding="utf-8")
