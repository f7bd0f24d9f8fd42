"""A run compared with its repetition: the same, or the first packet that differs."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest
from click.testing import CliRunner

from experiments.cli import repeat as verify_command
from experiments.run import verify as repetition
from experiments.run.request import RunRequest
from experiments.run.session import Ended
from experiments.run.verify import repeat, require_lab, to_repeat
from experiments.sack import SackParameters, experiment
from testbed.engine import Listener
from testbed.host.job_archive import code_digest
from testbed.lab.ready import Lab
from tests.analysis.frames import Record, pcap
from topologies.data import digest, to_data
from topologies.errors import TcplabError, UsageError

SPEC = experiment(SackParameters())
LAB = Lab(
    kernel=Path("linux"),
    confine=Path("confine"),
    init=Path("init"),
    image=Path("image"),
    kernel_release="7.2",
    seccomp=True,
    digests={"whole": "w", "kernel": "k", "image": "i"},
    packages={},
)
PACKETS = [Record(10**9 * at, bytes(60), 60) for at in range(1, 6)]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of one seed whose conditions left a capture and its counters each."""
    folder = tmp_path / "run"
    for condition in SPEC.conditions:
        trial = folder / "raw" / "seed-1" / condition.name
        trial.mkdir(parents=True)
        (trial / "h1-eth0.pcap").write_bytes(pcap(PACKETS))
        (trial / "counters.json").write_text("{}")
    manifest = {
        "testbed": "virtual",
        "seeds": [1],
        "spec_digest": digest(SPEC),
        "code_digest": code_digest(),
        "lab_digest": "w",
        "kernel": {"digest": "k"},
        "image": {"digest": "i"},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "spec.json").write_text(json.dumps({"parameters": {}, **to_data(SPEC)}))
    return folder


@pytest.fixture
def carried(run: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a repetition leaves: at first the same."""
    left = run.with_name("left")
    copytree(run / "raw", left)

    def carry(
        request: RunRequest, _lab: Lab | None, raw: Path, _progress: Listener
    ) -> Iterator[tuple[int, Ended]]:
        copytree(left, raw, dirs_exist_ok=True)
        yield from ((seed, TcplabError("", "")) for seed in request.seeds if seed < 0)

    monkeypatch.setattr(repetition, "carried", carry)
    return left


def test_what_is_the_same_is_not_kept(run: Path, carried: Path) -> None:
    comparison = repeat(to_repeat(run), LAB, Listener())
    assert (comparison.same, comparison.files, comparison.kept) == (True, 4, None)


def test_the_first_packet_that_differs_is_named_and_the_repetition_kept(run, carried) -> None:
    other = [*PACKETS[:3], replace(PACKETS[3], data=b"\1" * 60), PACKETS[4]]
    name = "seed-1/sack_on/h1-eth0.pcap"
    (run / "raw" / name).write_bytes(pcap(other))
    comparison = repeat(to_repeat(run), LAB, Listener())
    assert [difference.sentence for difference in comparison.captures] == [
        f"{name} differs from packet 4 on, 3.000 s after its first: the packet is another from byte"
        " 1 on (Ethernet destination, Ethernet source, Ethernet type, payload)"
    ]
    assert comparison.kept == run.with_name("run-repeated-1")
    assert (comparison.kept / "raw" / name).read_bytes() == pcap(PACKETS)


@pytest.mark.parametrize("missing", ["run", "left"])
def test_a_file_that_one_of_them_lacks_differs(run: Path, carried: Path, missing: str) -> None:
    place = run / "raw" if missing == "run" else carried
    (place / "seed-1/sack_off/counters.json").unlink()
    comparison = repeat(to_repeat(run), LAB, Listener())
    assert comparison.others == ("seed-1/sack_off/counters.json",)


def test_the_command_says_it_and_ends_so(run: Path, carried: Path, monkeypatch) -> None:
    monkeypatch.setattr(verify_command, "ready_lab", lambda _kernels: LAB)
    done = CliRunner().invoke(verify_command.verify, [str(run)])
    assert (done.exit_code, done.stdout.partition(":")[0]) == (0, "The same, byte by byte")
    (run / "raw/seed-1/sack_on/counters.json").write_text("[]")
    done = CliRunner().invoke(verify_command.verify, [str(run)])
    assert done.exit_code == 1
    assert "seed-1/sack_on/counters.json is another file." in done.stdout


def changed(run: Path, **facts: object) -> Path:
    manifest = json.loads((run / "manifest.json").read_text())
    (run / "manifest.json").write_text(json.dumps(manifest | facts))
    return run


def test_a_run_in_real_time_cannot_be_repeated(run: Path) -> None:
    with pytest.raises(UsageError, match="real time"):
        to_repeat(changed(run, testbed="native"))


@pytest.mark.parametrize("content", ["", "[]", "{", "null"])
def test_what_is_no_run_is_no_traceback(run: Path, content: str) -> None:
    (run / "manifest.json").write_text(content)
    with pytest.raises(UsageError):
        to_repeat(run)


def test_another_lab_is_named(run: Path) -> None:
    other = to_repeat(changed(run, lab_digest="v", kernel={"digest": "another"}))
    with pytest.raises(TcplabError, match="The kernel of this tcplab is not what made the run"):
        require_lab("run", other.manifest, LAB)


def test_a_spec_that_was_changed_is_refused(run: Path) -> None:
    with pytest.raises(TcplabError, match="not what the run's manifest says"):
        to_repeat(changed(run, spec_digest="another"))


@pytest.mark.parametrize("is_other", [False, True])
def test_other_code_is_known(run: Path, carried: Path, monkeypatch, is_other: bool) -> None:
    monkeypatch.setattr(verify_command, "ready_lab", lambda _kernels: LAB)
    (run / "raw/seed-1/sack_on/counters.json").write_text("[]")
    changed(run, **({"code_digest": "another"} if is_other else {}))
    done = CliRunner().invoke(verify_command.verify, [str(run)])
    assert ("The code that runs in guests is another" in done.stdout) == is_other
