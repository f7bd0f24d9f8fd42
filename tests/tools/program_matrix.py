"""Programs of many kinds in a network with loss: each twice, in both sandboxes, with equal packets.

    python -m tests.tools.program_matrix FOLDER [NAME...]

Prepares each program in FOLDER, or takes what was prepared there, and prints a row for each:
virtual seconds, wall seconds, the digest of packets and output, and whether these are the same the
second time, when there are pauses between the orders, and in the sandbox without namespaces. A
program that is not installed has a row that says so. Another user's digests are the same.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.programs.links import channel
from experiments.programs.network import Network
from experiments.programs.start import NetworkOptions, started
from testbed.virtual.sandbox import Bubblewrap, Sandbox, Supervised
from topologies.shapes import two_hosts

SOURCES = Path(__file__).with_name("programs")
PYTHON = sys.executable
NOBODY = (65534, 65534)
CURL = "curl -sS -w %{http_code}_%{time_total}_%{size_download} -o /dev/null"


@dataclass(frozen=True)
class MatrixCase:
    """A server and a client: `needs` are their programs, `prepare` makes files before the boot."""

    server: str
    client: str
    needs: tuple[str, ...] = ()
    prepare: str = ""
    port: int = 7000
    user: tuple[int, int] = (0, 0)


PAGES = "head -c 100000 /dev/zero >page"
CERTIFICATE = (
    "openssl req -x509 -newkey rsa:2048 -nodes -days 3650 -config certificate.conf"
    " -keyout key.pem -out cert.pem 2>/dev/null && chmod a+r *.pem"
)
NGINX = "mkdir -p /var/lib/nginx && nginx -p /tmp -e stderr -c $PWD/nginx.conf"
NGINX_CONF = (
    "printf 'daemon off; pid /tmp/pid; events {{}} http {{ access_log off;"
    " server {{ listen 7000 {}; root %s; }} }}' $PWD >nginx.conf"
)
TLS = "ssl http2; ssl_certificate cert.pem; ssl_certificate_key key.pem"
SSH_FILES = "cp -r ssh /tmp/ssh && chmod -R go= /tmp/ssh"
CASES = {
    "asyncio": MatrixCase(f"{PYTHON} echo_server.py", f"{PYTHON} echo_client.py"),
    "threads": MatrixCase(f"{PYTHON} threads.py server", f"{PYTHON} threads.py"),
    "http.server, curl": MatrixCase(
        f"{PYTHON} -m http.server 7000", f"{CURL} http://h2:7000/page", ("curl",), PAGES
    ),
    "nginx, curl": MatrixCase(
        NGINX, f"{CURL} http://h2:7000/page", ("nginx", "curl"), f"{PAGES}; {NGINX_CONF.format('')}"
    ),
    "nginx with TLS, curl": MatrixCase(
        NGINX,
        f"{CURL} --cacert cert.pem https://h2:7000/page",
        ("nginx", "curl"),
        f"{PAGES}; {CERTIFICATE}; {NGINX_CONF.format(TLS)}",
    ),
    "Go": MatrixCase("./probe server", "./probe", (), "go build -o probe probe.go"),
    "Node": MatrixCase("node probe.js server", "node probe.js", ("node",)),
    "Rust": MatrixCase("./probe server", "./probe", (), "rustc -O probe.rs"),
    "Java": MatrixCase("java Probe server", "java Probe", ("java",), "javac Probe.java"),
    "git over HTTP": MatrixCase(
        f"{PYTHON} -m http.server 7000",
        "git clone -q http://h2:7000/made.git /tmp/made && git -C /tmp/made log --oneline",
        ("git",),
        "git init -q made && cd made && cp ../*.py . && git add . &&"
        " git -c user.name=a -c user.email=a@b commit -qm one --date=2026-01-01T00:00 && cd .. &&"
        " git clone -q --bare made made.git && git -C made.git update-server-info",
    ),
    "rsync": MatrixCase(
        "rsync --daemon --no-detach --port=7000 --config=rsyncd.conf",
        "rsync -rt rsync://h2:7000/all/ /tmp/all && ls /tmp/all",
        ("rsync",),
        f"{PAGES}; printf '[all]\\npath = %s\\nuse chroot = no\\n' $PWD >rsyncd.conf",
    ),
    "rsync over ssh": MatrixCase(
        f"{SSH_FILES} && mkdir -p /run/sshd && $(command -v sshd) -De -p 7000 -f $PWD/sshd_config",
        f"{SSH_FILES} && rsync -rt -e 'ssh -p 7000 -i /tmp/ssh/key -o StrictHostKeyChecking=no"
        " -o UserKnownHostsFile=/dev/null' h2:$PWD/ /tmp/all && ls /tmp/all",
        ("rsync", "sshd", "ssh"),
        f"{PAGES}; mkdir ssh && ssh-keygen -qt ed25519 -N '' -f ssh/key && chmod a+r ssh/*; printf"
        " 'HostKey /tmp/ssh/key\nAuthorizedKeysFile /tmp/ssh/key.pub\nStrictModes no\n'"
        " >sshd_config",
    ),
    "PostgreSQL, psql": MatrixCase(
        "initdb -A trust -D /tmp/data >/dev/null && echo 'host all all 10.0.0.0/8 trust'"
        " >>/tmp/data/pg_hba.conf && postgres -D /tmp/data -k /tmp -p 7000 -h 0.0.0.0",
        "psql -h h2 -p 7000 -U nobody postgres -c 'select sum(n) from generate_series(1, 1000) n'",
        ("postgres", "initdb", "psql"),
        user=NOBODY,
    ),
    "Redis, redis-cli": MatrixCase(
        "redis-server --port 7000 --protected-mode no --save ''",
        "redis-cli -h h2 -p 7000 set a b && redis-cli -h h2 -p 7000 get a &&"
        " redis-benchmark -h h2 -p 7000 -n 20 -c 4 -t set,get -q",
        ("redis-server", "redis-benchmark"),
    ),
    "tokio": MatrixCase(
        "tokio/target/release/probe server",
        "tokio/target/release/probe",
        (),
        "cd tokio && cargo build -q --release",
    ),
    "gRPC in Go": MatrixCase(
        "./grpc/probe server", "./grpc/probe", (), "cd grpc && GOFLAGS=-mod=mod go build -o probe ."
    ),
    "HTTP/3 (aioquic)": MatrixCase(
        f"PYTHONPATH=lib {PYTHON} http3.py server",
        f"PYTHONPATH=lib {PYTHON} http3.py",
        (),
        f"{PYTHON} -m pip install -q --target lib aioquic && {CERTIFICATE}",
    ),
    "QUIC (quinn)": MatrixCase(
        "quinn/target/release/probe server",
        "quinn/target/release/probe",
        (),
        f"{CERTIFICATE} && cd quinn && cargo build -q --release",
    ),
    ".NET (Mono)": MatrixCase(
        "mono Probe.exe server", "mono Probe.exe", ("mono",), "mcs -out:Probe.exe Probe.cs"
    ),
}


@dataclass(frozen=True)
class MatrixRun:
    """What a case came to: digests of the captures and of the output, and times."""

    digests: tuple[str, ...]
    output: str
    virtual: float
    wall: float
    note: str


def carried_out(case: MatrixCase, project: Path, sandbox: type[Sandbox], pause: float) -> MatrixRun:
    options = NetworkOptions(project=project, sandbox=sandbox, folders=_toolchains(case))
    with tempfile.TemporaryDirectory() as place:
        out, begun = Path(place) / "out", time.monotonic()
        link = channel(delay="150ms", loss="5%")
        with started(two_hosts(link), 1, out, options) as network:
            output, note = _conversation(network, case, pause)
            virtual = network.now
        files = sorted(out.glob("*.pcap"))
        digests = tuple(hashlib.sha256(file.read_bytes()).hexdigest()[:12] for file in files)
    return MatrixRun(digests, output, virtual, time.monotonic() - begun - 2 * pause, note)


def _conversation(network: Network, case: MatrixCase, pause: float) -> tuple[str, str]:
    paths = {"PATH": f"{network.environment['PATH']}:{':'.join(map(str, _toolchains(case)))}"}
    server = network.h2.start(["sh", "-c", case.server], user=case.user, env=paths)
    if not network.h2.listens(case.port, "2min"):
        raise server.failed("does not listen")
    time.sleep(pause)
    client = network.h1.start(["sh", "-c", case.client], env=paths)
    network.sleep("100ms")
    time.sleep(pause)
    client.wait("30min").check()
    return client.stdout + client.stderr, network.unrepeatable


def _toolchains(case: MatrixCase) -> tuple[Path, ...]:
    """Return the folders of programs that are in none that every program sees."""
    found = map(_found, case.needs)
    return tuple({Path(file).resolve().parent for file in found if file})


def _found(program: str) -> str | None:
    """Return the program's path; servers may be outside of an ordinary user's PATH."""
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin")


def row(name: str, case: MatrixCase, place: Path) -> Sequence[str]:
    if absent := [need for need in case.needs if not _found(need)]:
        return (name, "", "", "", f"{absent[0]} is not installed")
    try:
        project = _prepared(name, case, place)
        runs = [
            carried_out(case, project, sandbox, pause)
            for sandbox, pause in ((Bubblewrap, 0.0), (Bubblewrap, 0.5), (Supervised, 0.0))
        ]
    except Exception as error:
        return (name, "", "", "", " ".join(str(error).split())[:300])
    first = runs[0]
    same = [
        f"{what} {_same(runs, get)}" for what, get in (("packets", _digests), ("output", _output))
    ]
    notes = [*same, *dict.fromkeys(run.note for run in runs if run.note)]
    digest = hashlib.sha256(repr((first.digests, first.output)).encode()).hexdigest()[:8]
    return (name, f"{first.virtual:.3f}", f"{first.wall:.1f}", digest, ", ".join(notes))


def _prepared(name: str, case: MatrixCase, place: Path) -> Path:
    project = place / re.sub(r"\W+", "_", name)
    if not project.exists():
        shutil.copytree(SOURCES, project)
        project.chmod(0o755)
        if case.prepare:
            subprocess.run(case.prepare, cwd=project, shell=True, check=True)
    return project


def _digests(run: MatrixRun) -> object:
    return run.digests


def _output(run: MatrixRun) -> object:
    return run.output


def _same(runs: Sequence[MatrixRun], get: Callable[[MatrixRun], object]) -> str:
    names = ("again", "supervised")
    differing = [
        name for name, run in zip(names, runs[1:], strict=True) if get(run) != get(runs[0])
    ]
    return f"differ ({', '.join(differing)})" if differing else "same"


def main(place: Path, names: Sequence[str]) -> None:
    print("| program | virtual s | wall s | digest | three runs |", flush=True)
    print("| --- | --- | --- | --- | --- |", flush=True)
    for name in names or CASES:
        print("| " + " | ".join(row(name, CASES[name], place)) + " |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
