"""The gallery of docs/gallery/pictures.toml, and the recorded stage: a grid of short runs.

The cache keeps pictures and pieces by a digest of all that they depend on.
"""

import hashlib
import json
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from analysis import rendering
from analysis.flows.reader import read
from analysis.flows.sightings import arrivals, sightings
from analysis.graphs.stored import Columns, StagedTrial, as_script, shape_of, stage_data
from analysis.records.output import by_port
from experiments.documentation.reference import rendered
from experiments.documentation.site import STAGE
from experiments.run.seed import judge, limits_for, run_seed
from experiments.spec import ExperimentSpec, Flow, congestion_control
from testbed.builds.cache import folder
from testbed.host import CODE
from testbed.host.job_archive import code_digest, fingerprint, fingerprint_of
from testbed.host.packages import MISSING
from testbed.host.scratch import scratch
from testbed.lab.ready import Lab
from testbed.release.files import called
from topologies import untrusted
from topologies.errors import CommandError, TcplabError
from topologies.notation import toml_file
from topologies.shapes import two_hosts
from topologies.spec import Channel
from topologies.units import Duration

PLACE = CODE / "docs/gallery"
_TEXTS = (
    PLACE / "studies",
    CODE / "analysis/rendering/templates",
    Path(__file__).parent / "templates",
)
"""Studies, and templates of pages, which are no code."""
PROGRAM = "./tcplab"  # first word of the gallery's commands, as everywhere in the documentation
_GRAPH = re.compile(r'<section class="graph" id="([^"]+)"')


@dataclass(frozen=True)
class GalleryPicture:
    """A picture by `commands`: `file` is it, or a page of a run or sweep that shows `graphs`."""

    name: str
    title: str
    look: str
    commands: tuple[str, ...]
    file: str
    graphs: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        words = (self.commands, self.file, self.graphs, _texts(), fingerprint())
        return hashlib.sha256(repr(words).encode()).hexdigest()


@cache
def _texts() -> str:
    """Return the SHA-256 of studies and templates, which are the same for all pictures."""
    files = [path for place in _TEXTS for path in place.rglob("*.*") if path.suffix != ".pyc"]
    return fingerprint_of({str(path.relative_to(CODE)): path.read_bytes() for path in files})


def pictures() -> tuple[GalleryPicture, ...]:
    content = toml_file(PLACE / "pictures.toml")
    return msgspec.convert(content["picture"], tuple[GalleryPicture, ...])


def made(
    wanted: Sequence[GalleryPicture], program: Sequence[str], report: Callable[[str], None]
) -> dict[str, Path]:
    """Return the pictures' files by name, drawn if missing. Raises CommandError and TcplabError."""
    files = {}
    for picture in wanted:
        kept = folder() / "gallery" / f"{picture.key}{Path(picture.file).suffix}"
        if not kept.exists():
            report(picture.title)
            if lack := _lack(picture, program, kept):
                report(f"left out. {lack}")
                continue
        files[f"gallery/{picture.name}{kept.suffix}"] = kept
    return files


def _lack(picture: GalleryPicture, program: Sequence[str], kept: Path) -> str:
    try:
        _draw(picture, program, kept)
    except CommandError as error:
        if MISSING not in error.output:
            raise
        return MISSING + error.output.partition(MISSING)[2].partition("\n")[0]
    return ""


def _draw(picture: GalleryPicture, program: Sequence[str], kept: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="tcplab-gallery-") as name:
        work = Path(name)
        for part in ("docs", "experiments"):
            (work / part).symlink_to(CODE / part)
        (work / "tcplab").write_text(f'#!/bin/sh\nexec {shlex.join(program)} "$@"\n')
        (work / "tcplab").chmod(0o755)
        for command in picture.commands:
            called(["sh", "-c", command], work, PYTHONPATH=str(CODE))
        file = work / picture.file
        if not file.is_file():
            problem = f"The commands of '{picture.name}' drew no {picture.file}."
            raise TcplabError(problem, "Fix docs/gallery/pictures.toml.")
        kept.parent.mkdir(parents=True, exist_ok=True)
        unfinished = kept.with_name(f"{kept.name}.{work.name}")
        if picture.graphs:
            page = _graphs_only(file.read_text(encoding="utf-8"), picture.graphs)
            unfinished.write_text(page, encoding="utf-8")
        else:
            shutil.copy(file, unfinished)
        unfinished.rename(kept)


def _graphs_only(page: str, wanted: Sequence[str]) -> str:
    """Show the groups of the `wanted` graphs only, which the page's scripts draw."""
    graphs = _GRAPH.findall(page)
    if not all(any(graph.startswith(name) for graph in graphs) for name in wanted):
        problem = f"A page lacks some graphs of {', '.join(wanted)}."
        raise TcplabError(problem, f"It has {', '.join(graphs) or 'no graphs'}.")
    return page.replace("</body>", rendered("graphs_only.html.j2", wanted=wanted) + "</body>", 1)


def gallery_page(shown: Sequence[GalleryPicture], files: Sequence[str]) -> str:
    names = {Path(name).stem: Path(name).name for name in files}
    return rendered("gallery.md.j2", pictures=shown, files=names)


LINKS = tuple(product(("2mbit", "10mbit"), ("10ms", "50ms"), ("0%", "1%")))  # rate, delay and loss
ALGORITHMS = ("cubic", "reno", "bbr")
QUEUES = ("20", "50", "100", "200", "500")
_LENGTH = Duration.parse("4s")
_DOWNLOAD, _CALL = 5001, 5002
_SEED = 1
_WALL_SECONDS = 300.0


@dataclass(frozen=True)
class Piece:
    """The runs of one link and congestion control, with each queue."""

    link: tuple[str, str, str]
    algorithm: str

    @property
    def name(self) -> str:
        return "-".join((*self.link, self.algorithm)).replace("%", "")

    @property
    def file(self) -> str:
        return f"{self.name}.js"


_FIRST = Piece(("10mbit", "10ms", "0%"), "reno")


def recorded(lab: Lab, report: Callable[[str], None]) -> dict[str, Path]:
    """Return the page and its pieces by name, after recording missing ones. Raises TcplabError."""
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
    rates, delays, losses = (list(dict.fromkeys(values)) for values in zip(*LINKS, strict=True))
    axes = {"rate": rates, "delay": delays, "loss": losses, "sender": ALGORITHMS, "queue": QUEUES}
    names = [each.name for each in pieces]  # of files that the page loads later
    grid = {"axes": axes, "first": (*_FIRST.link, _FIRST.algorithm), "pieces": names}
    page = rendering.render("recorded.html", {"grid": as_script(grid), "first": first})
    rendering.write(folder, [(STAGE, page.encode())], "docs")
    return {STAGE: folder / STAGE, **files}


def _folder(lab: Lab) -> Path:
    words = (LINKS, ALGORITHMS, QUEUES, lab.digests["whole"], code_digest(), fingerprint(__name__))
    return folder() / "recorded" / hashlib.sha256(repr(words).encode()).hexdigest()[:16]


def _record(link: tuple[str, str, str], lab: Lab, folder: Path) -> None:
    trials: dict[str, list[StagedTrial]] = {algorithm: [] for algorithm in ALGORITHMS}
    for queue in QUEUES:
        spec = study(link, queue)
        with scratch(in_memory=True) as raw:
            run_seed(spec, _SEED, raw, limits_for(spec, _WALL_SECONDS), lab, lambda *_: None)
            if failures := judge(spec, _SEED, raw).failures:
                raise TcplabError(f"A recorded run is not usable: {' '.join(failures)}")
            for algorithm, made in trials.items():
                made.append(_trial(raw / algorithm, spec))
    for algorithm, made in trials.items():
        piece = Piece(link, algorithm)
        text = f"recordedPiece({json.dumps(piece.name)}, {stage_data(made)});\n"
        rendering.write(folder, [(piece.file, text.encode())], "docs")


def study(link: tuple[str, str, str], queue: str) -> ExperimentSpec:
    return ExperimentSpec(
        "recorded",
        "",
        two_hosts(Channel(*link, queue=queue)),
        (
            Flow("download", "h1", "h2", _LENGTH, port=_DOWNLOAD),
            Flow("call", "h1", "h2", _LENGTH, port=_CALL, traffic="call"),
        ),
        tuple(map(congestion_control, ALGORITHMS)),
        captures=("h1-eth0", "h2-eth0"),
        sampling=Duration.parse("20ms"),
    )


def _trial(folder: Path, spec: ExperimentSpec) -> StagedTrial:
    ends = [read(folder / f"{host}-eth0.pcap", packets=True).packet_table for host in ("h1", "h2")]
    near, far = (table.rows(table["connection"].values == 1) for table in ends if table is not None)
    shape = shape_of(spec.topology, "h1", "h2", drawn=int(QUEUES[-1]))
    lines = untrusted.text(folder, "h1.sockets.jsonl").splitlines()
    sampled = by_port(lines).get(str(_DOWNLOAD), [])
    return StagedTrial.of("", shape, (near, far), True, sampled, _calls(folder))


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
