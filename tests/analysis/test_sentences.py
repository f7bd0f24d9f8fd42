"""Every sentence of a run's page and terminal that is about the run holds for the run it is on.

A sentence that speaks of captures, chance, seeds, losses and the like needs a rule: when it holds,
read from the run's files, not from the analysis. A sentence without a rule fails, so whoever writes
one has to say when it is true. Every rule is tried on runs for which it holds and for which not.
"""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from analysis.pages.run import print_report
from experiments.reporting.studies import make_report
from tests.analysis.made_runs import UDP_CLIENT, UDP_SERVER, flow, made_run, with_exchanges

SPEAKS_OF_THE_RUN = re.compile(
    r"captur|graphs/|plots/|byte for byte|prov[ei]|complete|lossless|at random|full queue"
    r"|because|chance|repetition|interval|seed|both ends|socket|sampled|median|no loss|dropped"
    r"|Every packet|no graph|differ|shown|declared|bucket",
    re.IGNORECASE,
)
FEWEST = 6


@dataclass(frozen=True)
class Facts:
    """What the files of a run say, read without the analysis. `out` is where its report is."""

    run: Path
    out: Path

    @cached_property
    def spec(self) -> dict[str, Any]:
        return dict(json.loads((self.run / "spec.json").read_text()))

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return dict(json.loads((self.run / "manifest.json").read_text()))

    @property
    def trials(self) -> list[Path]:
        names = [condition["name"] for condition in self.spec["conditions"]]
        folders = sorted((self.run / "raw").glob("seed-*"))
        return [folder / name for folder in folders for name in names if (folder / name).is_dir()]

    def has(self, name: str) -> bool:
        """Whether a file of the first seed is there and not empty."""
        first = self.trials[0].parent if self.trials else self.run / "none"
        return any(file.stat().st_size > 24 for file in first.glob(f"*/{name}"))

    @property
    def seeds(self) -> int:
        return len(self.manifest["seeds"])

    @property
    def conditions(self) -> int:
        return len(self.spec["conditions"])

    @property
    def captured(self) -> bool:
        return bool(self.spec["captures"]) and self.has("*.pcap")

    @property
    def sampled(self) -> bool:
        return self.has("*.sockets.jsonl")

    @property
    def whole(self) -> bool:
        return self.manifest["status"] == "complete" and not self.manifest["failures"]

    @property
    def claims(self) -> bool:
        return self.spec.get("headline") is not None

    @property
    def environment(self) -> dict[str, Any]:
        file = next(self.out.glob("raw/seed-*/environment.json"))
        return dict(json.loads(file.read_text()))

    @property
    def virtual(self) -> bool:
        return bool(self.manifest.get("testbed") == "virtual")

    def dropped(self, handle: str) -> bool:
        """Whether any port's discipline of that handle dropped a packet."""
        return any(
            qdisc.get("drops", 0) > 0
            for trial in self.trials
            for disciplines in json.loads((trial / "qdiscs.json").read_text())["after"].values()
            for qdisc in disciplines
            if qdisc.get("handle") == handle
        )

    @property
    def proved(self) -> bool:
        files = [trial / "evidence.json" for trial in self.trials]
        read = [json.loads(file.read_text())["proofs"] for file in files if file.is_file()]
        proofs = [proof["held"] for each in read for proof in each]
        return bool(proofs) and all(proofs)


Holds = Callable[[Facts], object]
ALWAYS: Holds = lambda _: True  # noqa: E731
NEVER: Holds = lambda _: False  # noqa: E731
RULES: tuple[tuple[str, Holds], ...] = (
    # what no page may say, whatever was measured
    (r"beyond (what )?chance|chance (can|explains)|lossless|each study ran again", NEVER),
    # the claim
    (r"^(Shown|Contradicted): ", lambda run: run.claims and run.whole and run.seeds >= FEWEST),
    (r"^Not shown: ", lambda run: run.claims),
    (r"No claim is declared|A spec declares one", lambda run: not run.claims),
    (r"repetitions? cannot show", lambda run: 0 < run.seeds < FEWEST),
    (r"^Enough repetitions:", lambda run: run.claims and run.seeds < FEWEST),
    (r"95 % interval [\d.]", lambda run: run.seeds >= FEWEST),
    (r"\d repetitions\)?: (larger|smaller|not shown to differ)", lambda run: run.seeds >= FEWEST),
    (r"too few to rule out chance", lambda run: run.seeds < FEWEST),
    (r"in one repetition", lambda run: run.seeds == 1),
    (r"marked failed", lambda run: run.manifest["status"] == "failed"),
    (r"not proved, so nothing is", lambda run: not run.proved),
    # the network
    (r"has the same random draws", lambda run: run.environment.get("same_draws")),
    (r"Links were token buckets", lambda run: run.environment.get("lines") is False),
    (r"^The share of exchanges that took", lambda run: run.has("*.exchanges.json")),
    # how the page counts
    (r"^Repetitions: 1 \(seed \d", lambda run: run.seeds == 1),
    (r"^Repetitions: \d+ \(seeds ", lambda run: run.seeds > 1),
    (r"^Repetitions: 0\.", lambda run: run.seeds == 0),
    (r"^Conditions: |^tcplab report ", ALWAYS),
    (r"^[\w-]+, \d+ repetitions?$", ALWAYS),
    (r"medians over the repetitions", lambda run: run.seeds > 1),
    (r"those of the one repetition", lambda run: run.seeds <= 1),
    (r"column of differences|From six repetitions on", lambda run: run.conditions > 1),
    (r"pairs are compared", lambda run: run.virtual and run.conditions > 1),
    (r"More repetitions tell more", lambda run: run.seeds < 10),
    (
        r"A line joins what the conditions gave under one seed|^All repetitions$|all repetitions$",
        lambda run: run.seeds > 1,
    ),
    (r"^One repetition\.$|, 1 repetition$", lambda run: run.seeds == 1),
    (r"^[A-Z][\w -]+, \d+ repetitions$|A line joins the values", lambda run: run.seeds > 1),
    (r"The thick mark is the median", lambda run: run.seeds > 1),
    (r"[Cc]ourse over all seeds|bands: all of them", lambda run: run.seeds > 1),
    (r"[Gg]oodput over the seeds|^A box is the middle half", lambda run: run.seeds > 1),
    (r"the socket's smoothed round trip", lambda run: run.has("*.sockets.jsonl")),
    (
        r"^The mark is the median\.( [\d,]+ of [\d,]+ did not end: curves end below 100 %\.)?$",
        lambda run: run.has("*.sockets.jsonl") or run.has("*.exchanges.json"),
    ),
    (r"in the median", lambda run: run.sampled),
    (r"^The median throughput", ALWAYS),
    # captures, samples and folders
    (r"Every packet, to zoom", lambda run: any((run.out / "graphs").rglob("graphs.html"))),
    (r"what both ends saw", lambda run: run.has("h1-eth0.pcap") and run.has("h2-eth0.pcap")),
    (r"from the captures? of seed", lambda run: run.captured),
    (r"throughput, round trips, windows", lambda run: run.sampled),
    (r"^Seed \d+, at the sender", lambda run: run.captured or run.sampled),
    (r"acknowledged bytes, from the capture", lambda run: run.has("h1-eth0.pcap")),
    (r"acknowledged bytes, from samples of the socket", lambda run: not run.has("h1-eth0.pcap")),
    (r"the socket had smoothed", lambda run: run.sampled and not run.has("h1-eth0.pcap")),
    (r"round trip of one segment .* from the capture", lambda run: run.has("h1-eth0.pcap")),
    (r"The congestion window and,.*sampled", lambda run: run.sampled),
    (r"was not sampled", lambda run: not run.sampled),
    (r"No graph could be drawn: there is", lambda run: not (run.captured or run.sampled)),
    (r"No graph: the run has no measurement", lambda run: not run.trials),
    (r"There is no graph of these flows", lambda run: run.captured or run.sampled),
    (r"the same captures, byte for byte", lambda run: run.virtual and run.spec["captures"]),
    (r"the same packets, byte for byte", lambda run: run.virtual and not run.spec["captures"]),
    (r"in the receiver's capture", lambda run: run.captured),
    (r"Files are in raw/seed-N", ALWAYS),
    # losses
    (r"^.{1,40}: no packet was lost", lambda run: not (run.dropped("1:") or run.dropped("3:"))),
    (r"(packets? (was|were)|and) [\d,.]* ?lost at random", lambda run: run.dropped("1:")),
    (r"dropped by a full queue", lambda run: run.dropped("3:") or run.dropped("2:")),
    # the run itself
    (r"Run complete, every condition proved", lambda run: run.whole and run.proved),
    (r"This run FAILED", lambda run: run.manifest["status"] == "failed"),
    (r"(is not complete|is marked) ", lambda run: run.manifest["status"] != "complete"),
    (r"Check this before you trust", ALWAYS),
    (r"There is no proof that the conditions held", lambda run: not run.proved),
    (r"is missing|cannot be read|is left out|Changed since", ALWAYS),
    (r"holds no repetition|No repetition has a", lambda run: not run.trials),
    (r"^Failure:|cannot be compared|no iperf summary|a SYN offered SACK", ALWAYS),
    # what does not depend on the run: the network's verdict, standards, published figures, commands
    (
        r"^(Verdict on the network|All that was measured|The network of this run|Not measured, )",
        ALWAYS,
    ),
    (r"spec.json names no network|cannot be compared|So it is at \d+ places", ALWAYS),
    (r"What the standards say|RFC \d+|tcptrace|Our iperf|The original's is not published", ALWAYS),
    (r"A difference is our median|in the original|--repeat \d|--seed \d|published", ALWAYS),
    (r"because the two conditions carry different amounts", lambda run: run.conditions == 2),
    (r"What was (asked|measured|lost)|Source|Testbed: ", ALWAYS),
    (r"the kernel dropped|Hosts dropped|random loss|shortest round trip|was waited for", ALWAYS),
)
"""What a sentence says, and when that is so."""


def change(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def environments(run: Path, **changes: Any) -> None:
    for file in run.glob("raw/seed-*/environment.json"):
        change(file, **changes)


def repeated(run: Path, count: int) -> None:
    for seed in range(6, 5 + count):
        shutil.copytree(run / "raw/seed-5", run / f"raw/seed-{seed}")
        server = run / f"raw/seed-{seed}/sack_on/flow1.server.txt"
        server.write_text(server.read_text().replace("354 Kbits", f"{350 + seed} Kbits"))
    change(run / "manifest.json", seeds=list(range(5, 5 + count)))


def removed(run: Path, pattern: str) -> None:
    for file in run.rglob(pattern):
        file.unlink()


def claimed(run: Path) -> None:
    headline = {
        "question": "Does SACK help?",
        "metric": "metric.goodput_kbit_s",
        "what": "the throughput",
        "subject": {"condition": "sack_on"},
        "direction": "larger",
        "against": {"condition": "sack_off"},
        "repetitions": 7,
    }
    change(run / "spec.json", headline=headline)


def uncaptured(run: Path) -> None:
    change(run / "spec.json", captures=[])
    removed(run, "*.pcap")


def one_condition(run: Path) -> None:
    spec = json.loads((run / "spec.json").read_text())
    change(run / "spec.json", conditions=spec["conditions"][:1])


def without_loss(run: Path) -> None:
    for file in run.rglob("qdiscs.json"):
        file.write_text(re.sub(r'"drops": \d+', '"drops": 0', file.read_text()))


def with_full_queue(run: Path) -> None:
    """Every drop is the queue's: netem counts its child's among its own."""
    for file in run.rglob("qdiscs.json"):
        content = json.loads(file.read_text())
        for disciplines in content["after"].values():
            for qdisc in disciplines:
                qdisc["drops"] = 70
        file.write_text(json.dumps(content))


def several(*changes: Callable[[Path], None]) -> Callable[[Path], None]:
    def all_of_them(run: Path) -> None:
        for each in changes:
            each(run)

    return all_of_them


def of_somebody(run: Path) -> None:
    change(run / "manifest.json", experiment="mine")


def in_real_time(run: Path) -> None:
    change(run / "manifest.json", testbed="native")


CHANGES: dict[str, Callable[[Path], None]] = {
    "as recorded": lambda _: None,
    "a claim and one seed": claimed,
    "a claim and two seeds": several(claimed, lambda run: repeated(run, 2)),
    "a claim and seven seeds": several(claimed, lambda run: repeated(run, 7)),
    "seven seeds, and it failed": several(
        claimed,
        lambda run: repeated(run, 7),
        lambda run: change(run / "manifest.json", status="failed", failures=["a SYN offered SACK"]),
    ),
    "without captures": uncaptured,
    "without captures and samples": several(uncaptured, lambda run: removed(run, "*.jsonl")),
    "captures that were lost": lambda run: removed(run, "*.pcap"),
    "the sender's capture was lost": lambda run: removed(run, "h1-eth0.pcap"),
    "no samples": lambda run: removed(run, "*.jsonl"),
    "one condition": one_condition,
    "real time": in_real_time,
    "real time without captures": several(uncaptured, in_real_time),
    "the same luck": lambda run: environments(run, same_draws=True, lines=True),
    "token buckets": lambda run: environments(run, same_draws=False, lines=False),
    "an application": with_exchanges,
    "interrupted": lambda run: change(run / "manifest.json", status="interrupted"),
    "nothing in it": lambda run: shutil.rmtree(run / "raw"),
    "an experiment of somebody's": of_somebody,
    "somebody's without a loss": several(without_loss, of_somebody),
    "somebody's with a full queue": several(with_full_queue, of_somebody),
    "somebody's, not proved": several(
        claimed, of_somebody, lambda run: removed(run, "evidence.json")
    ),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of packets is not tested here, and takes most of a report's time."""
    monkeypatch.setattr("analysis.reporting.run_graphs.page", lambda *_: "packets")


def sentences(page: str, told: str) -> Iterator[str]:
    """Of the page all but cells of tables and commands; of the terminal all but its tables.

    Legends are names.
    """
    page = re.sub(r'<div class="legend first">.*?</div>', " ", page)
    kept = re.sub(r"<(style|script|pre|td|th|code|title)\b.*?</\1>", " ", page, flags=re.DOTALL)
    blocks = re.split(r"</?(?:p|li|h\d|div|figcaption|strong|summary|ul|ol|table)\b[^>]*>", kept)
    texts = [html.unescape(re.sub(r"<[^>]+>", " ", block)) for block in blocks]
    texts += [line for line in told.splitlines() if not re.search("[\u2500-\u257f]", line)]
    for text in texts:
        for sentence in re.split(r"(?<=[.!?]) +(?=[A-Z])", " ".join(text.split())):
            if SPEAKS_OF_THE_RUN.search(sentence):
                yield sentence


def false_ones(facts: Facts, told: str) -> list[str]:
    """The sentences that do not hold, and those that nobody has said a rule for."""
    found = []
    for sentence in sentences((facts.out / "report.html").read_text(), told):
        rules = [holds for pattern, holds in RULES if re.search(pattern, sentence)]
        if not rules:
            found.append(f"no rule says when this holds: {sentence}")
        elif not all(holds(facts) for holds in rules):
            found.append(f"false: {sentence}")
    return found


@pytest.mark.parametrize("change_of_run", CHANGES)
def test_every_sentence_holds_for_the_run_that_it_is_on(
    run_directory: Path, change_of_run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    CHANGES[change_of_run](run_directory)
    print_report(make_report(run_directory))
    found = false_ones(Facts(run_directory, run_directory), capsys.readouterr().out)
    assert not found, "\n".join(found)


def test_datagrams_are_not_called_tcp(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {"flow1.client.txt": UDP_CLIENT, "flow1.server.txt": UDP_SERVER}
    flows = [flow("flow1", "top", 6001, "20mbit")]
    run = made_run(tmp_path / "run", "mine", {}, flows, {"only": [files]})
    print_report(make_report(run))
    told = capsys.readouterr().out
    assert false_ones(Facts(run, run), told) == []
    assert "TCP retransmitted" not in (run / "report.html").read_text()


@pytest.mark.parametrize(
    ("sentence", "change_of_run"),
    [
        ("The same seeds, kernel and image give the same captures, byte for byte.", "real time"),
        ("Counted are newly acknowledged bytes, from the capture.", "without captures"),
        ("The interval excludes 1: SACK was faster, beyond what chance explains.", "as recorded"),
        ("SACK off: 26 packets were lost at random.", "somebody's without a loss"),
        ("It lies below the lossless rate.", "as recorded"),
        ("Somebody's new sentence about the captures.", "as recorded"),
    ],
)
def test_a_false_sentence_would_be_found(
    run_directory: Path, sentence: str, change_of_run: str
) -> None:
    """The sentences that were false when this was written, and one that nobody has a rule for."""
    CHANGES[change_of_run](run_directory)
    (run_directory / "report.html").write_text(f"<p>{sentence}</p>")
    assert len(false_ones(Facts(run_directory, run_directory), "")) == 1
