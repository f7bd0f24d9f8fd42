"""A guest that waited for its order sends the packets of one that had it from the start."""

import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.play.columns import Frame, packets
from experiments.play.guests import MovedOn
from experiments.play.player import Player, PlayEvent
from experiments.play.settings import PlaySettings
from experiments.run.seed import PROCEDURE, known_before, limits_for, run_seed
from testbed.host.processes import taken_by
from testbed.virtual import guest as started
from testbed.virtual.guest import GuestSettings
from testbed.virtual.run import guest_ahead, ordered
from testbed.virtual.sandbox import Supervised
from tests.virtual.conftest import digests
from topologies.data import to_data

pytestmark = pytest.mark.virtual
EPOCH = 1_700_000_000.0  # when the flows of every guest begin, in seconds since 1970
SETTINGS = PlaySettings.from_data(
    {"bw": "3mbit", "loss": "1%", "flows": "cubic+bbr@1s", "duration": "3s", "seed": "5"}
)


def captures(folder: Path) -> dict[str, str]:
    return {name: value for name, value in digests(folder).items() if name.endswith(".pcap")}


@pytest.fixture(scope="session")
def told_at_once(ready_lab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The captures of `./tcplab run` with these settings."""
    out = tmp_path_factory.mktemp("told")
    spec = SETTINGS.spec()
    limits = limits_for(spec, 300.0)
    run_seed(spec, 5, out, limits, ready_lab, lambda *_: None)
    return captures(out)


def waited(ready_lab, out: Path, seconds: float) -> dict[str, str]:
    """The captures of a guest that knows nothing of the settings for so many seconds."""
    spec = SETTINGS.spec()
    known, limits = to_data(known_before(PlaySettings().spec())), limits_for(spec, 300.0)
    with guest_ahead(GuestSettings(ready_lab, out, limits, None), PROCEDURE, known) as guest:
        time.sleep(seconds)
        guest.order(ordered(to_data(spec.for_guest()), 5))
        guest.follow(lambda *_: None)
    return captures(out)


@pytest.mark.parametrize("seconds", [0.0, 3.0])
def test_the_packets_are_the_same_however_long_it_waited(
    ready_lab, told_at_once: dict[str, str], tmp_path: Path, seconds: float
) -> None:
    assert len(told_at_once) == 2
    assert waited(ready_lab, tmp_path, seconds) == told_at_once


def test_and_in_the_sandbox_without_namespaces(
    ready_lab, told_at_once: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = SimpleNamespace(kind=Supervised)
    monkeypatch.setattr(started, "allowed_sandbox", lambda _confine: chosen)
    assert waited(ready_lab, tmp_path, 0.5) == told_at_once


def test_while_it_waits_it_takes_no_processor_time(ready_lab, tmp_path: Path) -> None:
    spec = SETTINGS.spec()
    known, limits = to_data(known_before(spec)), limits_for(spec, 300.0)
    settings = GuestSettings(ready_lab, tmp_path, limits, None)
    with guest_ahead(settings, PROCEDURE, known) as guest:
        first = guest.process.pid
        before = taken_by(first).cpu
        time.sleep(2)
        assert taken_by(first).cpu - before < 0.1


@pytest.fixture(scope="module")
def player(ready_lab):
    with Player(ready_lab, waiting=1) as player:
        yield player


def test_a_player_hears_samples_before_packets_and_events_last(player: Player) -> None:
    heard: list[Frame | PlayEvent] = []
    outcome = player.play(SETTINGS, heard.append, threading.Event())
    kinds = [piece.kind for piece in heard if isinstance(piece, Frame)]
    assert kinds[0] == "samples" and kinds.index("packets") > kinds.count("samples") - 1
    assert outcome.verdict == "good" and len(outcome.flows) == 2
    packets = next(piece for piece in heard if piece.kind == "packets").columns
    assert set(packets["flow"]) == {0, 1}
    lost = sum(flow["lost"] for flow in outcome.flows)
    assert lost == len(next(piece for piece in heard if piece.kind == "drops").columns["time"]) > 0
    assert 1.5 < sum(flow["goodput_mbit_s"] for flow in outcome.flows) < 4.5


def test_a_run_that_nobody_wants_any_more_ends(player: Player) -> None:
    ended = threading.Event()
    long = PlaySettings.from_data({"bw": "100mbit", "queue": "500", "duration": "1h"})
    with pytest.raises(MovedOn):
        player.play(long, lambda _piece: ended.set(), ended)


@pytest.mark.parametrize("change", ["", "1s bw=1mbit"])
def test_a_saved_run_has_the_packets_that_were_played(
    player: Player, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = PlaySettings.from_data({"bw": "3mbit", "duration": "2s", "change": change})
    played: list[Frame] = []
    player.play(settings, played.append, threading.Event())  # type: ignore[arg-type]
    saved = player.save(settings)
    assert (saved / "report.html").is_file()
    times = [piece.columns["time"] for piece in played if piece.kind == "packets"]
    again = packets(saved / "raw/seed-1/as_set", EPOCH)[0].columns["time"]
    assert len(again) > 100 and np.ptp(times[0]) == pytest.approx(np.ptp(again), abs=1e-6)


def test_several_seeds_give_a_band(player: Player) -> None:
    bands: list[Frame] = []
    player.seeds(SETTINGS, 3, bands.append, threading.Event())  # type: ignore[arg-type]
    columns = bands[-1].columns
    assert len(bands) == 3
    assert (columns["low"] <= columns["middle"]).all()
    assert (columns["low"] < columns["high"]).any()
