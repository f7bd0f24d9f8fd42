"""Run directories with made or recorded output of iperf, for tests of the studies' pages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

UDP_CLIENT = """\
------------------------------------------------------------
Client connecting to 10.0.0.2, UDP port 6001
Sending 1470 byte datagrams, IPG target: 588.00 us (kalman adjust)
UDP buffer size:  208 KByte (default)
------------------------------------------------------------
[  1] local 10.2.0.2 port 50898 connected with 10.0.0.2 port 6001
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-60.0007 sec   143 MBytes  20.0 Mbits/sec
[  1] Sent 102045 datagrams
[  1] Server Report:
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-60.1699 sec  63.4 MBytes  8.84 Mbits/sec   0.217 ms 56822/102044 (56%)
"""
"""What iperf 2 printed in a run with sfq."""
UDP_SERVER = """\
[  1] local 10.0.0.2 port 6001 connected with 10.2.0.2 port 50898
[ ID] Interval       Transfer     Bandwidth        Jitter   Lost/Total Datagrams
[  1] 0.0000-60.1699 sec  63.4 MBytes  8.84 Mbits/sec   0.217 ms 56822/102044 (56%)
[  3] WARNING: ack of last datagram failed.
"""
HEAD = "[ ID] Interval       Transfer     Bandwidth\n"


def line(rate: float, end: float = 60.0, start: float = 0.0) -> str:
    """A line of iperf; `rate` in Mbit/s."""
    return f"[  1] {start:.4f}-{end:.4f} sec  1.00 MBytes  {rate:.3g} Mbits/sec\n"


def client(*seconds: float, rate: float) -> str:
    """A client with -i 1 and these rates in Mbit/s."""
    return (
        HEAD
        + "".join(line(one, at + 1, at) for at, one in enumerate(seconds))
        + line(rate, len(seconds) or 60)
    )


def flow(name: str, sender: str, port: int, rate: str | None = None) -> dict[str, Any]:
    return {"name": name, "sender": sender, "receiver": "left", "port": port, "rate": rate}


def made_run(
    folder: Path,
    experiment: str,
    parameters: dict[str, str],
    flows: list[dict[str, Any]],
    said: dict[str, list[dict[str, str]]],
    published: list[dict[str, Any]] | None = None,
) -> Path:
    """A run whose `said` holds for each condition, seed by seed, the files that iperf wrote."""
    labels = {name: name.replace("_period", ", as it was") for name in said}
    spec = {
        "format": 1,
        "name": experiment,
        "parameters": parameters,
        "flows": flows,
        "published": published or [],
        "conditions": [
            {"name": name, "label": label, "sysctls": []} for name, label in labels.items()
        ],
        "captures": [],
        "topology": {"name": "star", "diagram": ""},
    }
    seeds = list(range(1, 1 + max(map(len, said.values()))))
    manifest = {
        "format": 1,
        "id": "made",
        "experiment": experiment,
        "claim": "A claim.",
        "status": "complete",
        "failures": [],
        "warnings": [],
        "seeds": seeds,
        "files": {},
    }
    for name, repetitions in said.items():
        for seed, files in zip(seeds, repetitions, strict=False):
            place = folder / "raw" / f"seed-{seed}" / name
            place.mkdir(parents=True)
            for file, content in files.items():
                (place / file).write_text(content)
    (folder / "spec.json").write_text(json.dumps(spec))
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def with_exchanges(run: Path) -> None:
    """Give flow1 an application whose exchange takes 100, 200 or 300 ms; one does not end."""
    for at, folder in enumerate(sorted(run.glob("raw/seed-*/sack_*"))):
        ends = [1 + 0.1 * (each + 1 + at % 2) for each in range(3)]
        rows = [{"size": 1, "began": 1.0, "ended": end} for end in (*ends, None)]
        (folder / "flow1.exchanges.json").write_text(json.dumps({"exchanges": rows}))
