"""Who reaches the members of a Dask cluster, and how they end."""

from __future__ import annotations

import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner
from distributed import Client

from experiments.cli.commands import tcplab
from testbed.engine import members
from testbed.engine.certificates import FOLDER, Certificates, certificates, make_certificates
from testbed.engine.cluster import security_for
from testbed.lab.ready import Lab
from topologies.errors import TcplabError, UsageError

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 120  # seconds until a member that does not end is taken for one that hangs
SCHEDULER_IS_UP, WORKER_IS_UP = "Scheduler at:", "Registered to:"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@contextmanager
def member(*words: str, up: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A started member and what it printed until a line with `up`.

    env(1) takes back what the tests may have been started with: after nohup(1), SIGHUP is ignored.
    """
    command = ["env", "--default-signal", sys.executable, "-m", "experiments.cli.main", *words]
    stderr = subprocess.PIPE
    with subprocess.Popen(command, stderr=stderr, text=True, cwd=ROOT) as process:
        try:
            assert process.stderr
            printed = ""
            for line in process.stderr:
                printed += line
                if up in line:
                    break
            assert up in printed, printed
            yield process, printed
        finally:
            if process.poll() is None:
                process.kill()


def listening(process: subprocess.Popen[str]) -> set[tuple[str, int]]:
    """The addresses and ports that a process and its children listen on."""
    mine = {process.pid, *(child.pid for child in psutil.Process(process.pid).children(True))}
    return {
        (str(place.laddr.ip), int(place.laddr.port))
        for place in psutil.net_connections("tcp")
        if place.status == psutil.CONN_LISTEN and place.pid in mine
    }


def test_a_scheduler_listens_on_loopback_only() -> None:
    port = free_port()
    with member("scheduler", "--port", str(port), up=SCHEDULER_IS_UP) as (process, printed):
        places = listening(process)
        assert ("127.0.0.1", port) in places
        assert {host for host, _ in places} == {"127.0.0.1"}
        assert "Warning" not in printed


def test_a_scheduler_for_others_needs_a_certificate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path / "absent"))
    done = CliRunner().invoke(tcplab, ["scheduler", "--host", "0.0.0.0"])
    assert done.exit_code == 1 and "./tcplab cluster certificates" in done.output


@pytest.fixture
def certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certificates:
    """A certificate, and the environment that names it."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "cluster"))
    return make_certificates(tmp_path / "cluster")


def test_with_a_certificate_it_serves_its_holders_only(certified: Certificates) -> None:
    port = free_port()
    words = ["scheduler", "--host", "0.0.0.0", "--port", str(port)]
    with member(*words, up=SCHEDULER_IS_UP) as (process, _):
        beyond = {place for place in listening(process) if place[0] != "127.0.0.1"}
        assert beyond == {("0.0.0.0", port)}, "its pages stay here"
        address = f"tls://127.0.0.1:{port}"
        with Client(address, security=security_for(address), timeout=PATIENCE) as client:
            assert client.scheduler_info()["workers"] == {}
        plain = ssl.create_default_context(cafile=str(certified.certificate))
        plain.check_hostname = False
        with (
            pytest.raises(ssl.SSLError),
            socket.create_connection(("127.0.0.1", port)) as stream,
            plain.wrap_socket(stream) as secured,
        ):
            secured.recv(1)  # TLS 1.3 refuses a client without a certificate after its handshake


def test_a_certificate_is_made_once_and_its_key_is_secret(certified: Certificates) -> None:
    assert certified.key.stat().st_mode & 0o777 == 0o600
    with pytest.raises(UsageError, match="has a certificate already"):
        make_certificates(certified.folder)
    certified.key.chmod(0o644)
    with pytest.raises(TcplabError, match="Others may read"):
        certificates()


@pytest.mark.parametrize("ending", ["SIGTERM", "SIGINT", "SIGHUP", "SIGKILL"])
def test_a_signal_ends_the_scheduler_and_frees_its_port(ending: str) -> None:
    port = free_port()
    with member("scheduler", "--port", str(port), up=SCHEDULER_IS_UP) as (process, _):
        process.send_signal(signal.Signals[ending])
        process.communicate(timeout=PATIENCE)  # to the end of the pipe, which a child would hold
        with socket.create_server(("127.0.0.1", port)):
            pass


@pytest.mark.virtual
@pytest.mark.parametrize("ending", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_worker_stays_on_loopback_like_its_scheduler(ready_lab: Lab, ending: str) -> None:
    scheduler, own = free_port(), free_port()
    words = ["worker", f"tcp://127.0.0.1:{scheduler}", "--slots", "1", "--port", str(own)]
    with (
        member("scheduler", "--port", str(scheduler), up=SCHEDULER_IS_UP),
        member(*words, up=WORKER_IS_UP) as (process, _),
    ):
        assert ("127.0.0.1", own) in listening(process)
        assert {host for host, _ in listening(process)} == {"127.0.0.1"}
        process.send_signal(signal.Signals[ending])
        process.communicate(timeout=PATIENCE)
        with socket.create_server(("127.0.0.1", own)):
            pass


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_a_worker_on_loopback_needs_no_certificate(host: str) -> None:
    members.require_protection("tcp://127.0.0.1:8786", host)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "fe80::1"])
def test_a_worker_elsewhere_is_refused_without_one(host: str) -> None:
    with pytest.raises(UsageError, match="whoever reaches it would run code as you"):
        members.require_protection("tcp://192.0.2.1:8786", host)
    members.require_protection("tls://192.0.2.1:8786", host)


def test_an_address_that_cannot_be_is_one_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="is no address"):
        members.require_protection("tcp://127.0.0.1:8786", "no such host")
    with pytest.raises(UsageError, match="is no scheduler's address"):
        members.towards("lab1")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(TcplabError, match=r"did not start at 127.0.0.1.*already in use"):
            members.run_scheduler("127.0.0.1", int(port))
    done = CliRunner().invoke(tcplab, ["worker", "lab1"])
    assert done.exit_code == 2 and "is no scheduler's address" in done.output
