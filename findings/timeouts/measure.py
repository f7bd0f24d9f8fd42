"""Measure when clients give up on a silent network, in virtual time.

`python3 measure.py FOLDER` installs the libraries of versions.txt in FOLDER, which every user must
be able to read. It runs the clients in groups, and writes timeouts.csv and
docs/concepts/timeouts.md. It needs Go, Node, Java, curl, wget and ssh, and takes half an hour.
"""

import csv
import json
import re
import shlex
import subprocess
import sys
import textwrap
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
TABLE = HERE / "timeouts.csv"
GROUPS = [
    ["curl", "wget", "OpenSSH", "Go", "Node fetch", "Node http", "Java"],
    ["urllib", "urllib3", "requests", "httpx", "aiohttp", "tornado"],
    ["redis", "pymemcache", "psycopg", "asyncpg", "pymysql", "pymongo", "kafka-python"],
    ["paho-mqtt", "pika", "nats-py", "grpcio", "websockets", "asyncssh", "paramiko"],
]
SYSTEM = {*GROUPS[0], "urllib"}
RESOLVERS = ["dnspython", "aiodns"]
ONE_REQUEST = {"urllib", "tornado", "pymongo", "kafka-python", "pika", "asyncpg"}
FAULTS = {
    "syn": "no answer to the SYN",
    "stall": "accepted, no answer",
    "half": "silence later",
    "reset": "reset",
    "dns": "no answer of DNS",
}
USUAL = {"reset": "0.0", "dns": "10.0 (2)"}
"""What most clients do under faults that need no column."""
SERVERS = {"syn": "stall", "dns": "stall", "half": "speak"}
HEAD = """# Time-outs of clients

Seconds until a client with its default settings raises an error, and in brackets the connections
that it tried (rounds of queries, for DNS), if more than one. Measured on Linux 7.2 in virtual time
by `findings/timeouts/measure.py`.

* *{syn}*: the packets to the server are lost. The kernel gives up after 131 s.
* *{stall}*: the server accepts and reads, and never answers.
* *{half}*: one exchange succeeds, and all packets are lost from second 2 on. In second 3 the
  client asks again, or waits on. The kernel gives up on data after 15 minutes.
* *{reset}*: the server resets each connection when the request comes.
* *{dns}*: the resolver of `/etc/resolv.conf` is silent.

*never*: still waiting after six hours. A dash: not measured. OpenSSH is Debian's, whose `BatchMode`
sets `ServerAliveInterval`.
"""


def versions() -> dict[str, str]:
    """Return the version of each client."""
    text = (HERE / "versions.txt").read_text()
    return dict(line.split("==") for line in text.splitlines())


def install(folder: Path) -> None:
    """Put clients and scripts in a folder that hosts can see."""
    pip = [sys.executable, "-m", "pip", "install", "-q", "--target", folder / "lib"]
    libraries = [f"{name}=={version}" for name, version in versions().items() if name not in SYSTEM]
    subprocess.run([*pip, *libraries], check=True)
    for file in HERE.glob("*.*"):
        (folder / file.name).write_bytes(file.read_bytes())
    subprocess.run(["go", "build", "-o", folder / "build/go", HERE / "get.go"], check=True)
    subprocess.run(["javac", "-d", folder / "build", HERE / "Get.java"], check=True)


def run(fault: str, names: list[str], folder: Path) -> str:
    """Run clients of a group under a fault, and return the output."""
    python = f"env PYTHONPATH={folder}/lib /usr/bin/python3"
    server = f"{python} {folder}/server.py {SERVERS.get(fault, fault)} {shlex.join(names)}"
    words = ["--timeout", "7h", "--folder", folder, "--port", "9999", "--server", server]
    words += ["--down", "2s,100h"] if fault == "half" else []
    words += ["--out", folder / "captures", "--", *python.split(), folder / "driver.py", fault]
    line = [ROOT / "tcplab", "exec", *words, *names]
    return subprocess.run(line, capture_output=True, text=True, check=True).stdout


def tries(fault: str, capture: Path) -> dict[int, int]:
    """Return how many connections (or queries) each client began, by its place in the group."""
    import dpkt

    seen = defaultdict(set)
    with capture.open("rb") as file:
        for time, frame in dpkt.pcap.Reader(file):
            packet = dpkt.ethernet.Ethernet(frame).data
            segment = getattr(packet, "data", None)
            if isinstance(segment, dpkt.tcp.TCP) and segment.flags & 18 == 2 and fault != "dns":
                seen[segment.dport - 10000].add(segment.sport)
            if isinstance(segment, dpkt.udp.UDP) and segment.dport == 53:
                name = re.search(rb"c100(\d\d)\x07example", bytes(segment.data))
                seen[int(name[1])].add(time)
    return {place: len(starts) for place, starts in seen.items()}


def rows(fault: str, names: list[str], output: str, capture: Path) -> list[list[object]]:
    """Return the rows of a run."""
    results = json.loads(re.search(r"^RESULTS (.*)$", output, re.MULTILINE)[1])
    counts = tries(fault, capture)
    return [
        [name, fault, "never" if error == "still waiting" else seconds, counts.get(place, 0), error]
        for place, name in enumerate(names)
        for seconds, _status, error in [results[name]]
    ]


def groups(fault: str) -> list[list[str]]:
    """Return the groups of clients that can show a fault."""
    if fault == "half":
        return [[name for name in group if name not in ONE_REQUEST] for group in GROUPS]
    return GROUPS + ([RESOLVERS] if fault == "dns" else [])


def _cell(row: dict[str, str] | None) -> str:
    if not row:
        return "-"
    return row["seconds"] if row["tries"] == "1" else f"{row['seconds']} ({row['tries']})"


def write_page() -> None:
    """Write the page from the table."""
    with TABLE.open() as file:
        table = {(row["client"], row["fault"]): _cell(row) for row in csv.DictReader(file)}
    clients = [name for group in GROUPS for name in group]
    columns = [fault for fault in FAULTS if fault not in USUAL]
    lines = ["| client | " + " | ".join(FAULTS[fault] for fault in columns) + " |"]
    lines.append("| --- " * (1 + len(columns)) + "|")
    for name in clients:
        texts = [table.get((name, fault), "-") for fault in columns]
        lines.append(f"| {name} {versions()[name]} | " + " | ".join(texts) + " |")
    lines.append("")
    for fault, usual in USUAL.items():
        others = [
            f"{name} {cell}"
            for name in clients + RESOLVERS
            if (cell := table.get((name, fault), usual)) != usual
        ]
        text = f"*{FAULTS[fault]}*: {usual} for all but {', '.join(others)}."
        lines += [*textwrap.wrap(text, 100, break_on_hyphens=False), ""]
    (ROOT / "docs/concepts/timeouts.md").write_text(
        HEAD.format(**FAULTS) + "\n" + "\n".join(lines[:-1]) + "\n"
    )


def main() -> None:
    """Measure everything."""
    folder = Path(sys.argv[1]).resolve()
    install(folder)
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["client", "fault", "seconds", "tries", "error"])
        for fault in FAULTS:
            for names in groups(fault):
                output = run(fault, names, folder)
                writer.writerows(rows(fault, names, output, folder / "captures/h1-eth0.pcap"))
    write_page()


if __name__ == "__main__":
    main()
