"""Who reaches the members of a Dask cluster, and how they end."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import urlopen

import psutil
import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster

from experiments.cli.commands import tcplab
from experiments.sweep.run import runner_for
from testbed.engine import cluster as cluster_module
from testbed.engine.certificates import (
    FOLDER,
    Certificates,
    certificates,
    certificates_or_made,
    make_certificates,
)
from testbed.engine.cluster import security
from testbed.lab.ready import Lab
from topologies.errors import TcplabError, UsageError

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300  # seconds until a member that does not end is taken for one that hangs
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


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cluster's certificate, which is still to be made."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "tcplab/cluster"))
    return tmp_path / "tcplab/cluster"


@pytest.fixture
def certified(folder: Path) -> Certificates:
    return make_certificates(folder)


def test_a_scheduler_listens_on_loopback_only() -> None:
    port = free_port()
    with member("scheduler", "--port", str(port), up=SCHEDULER_IS_UP) as (process, printed):
        places = listening(process)
        assert ("127.0.0.1", port) in places
        assert {host for host, _ in places} == {"127.0.0.1"}
        assert "Warning" not in printed


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_a_scheduler_makes_its_certificate_and_serves_holders_only(host: str, folder: Path) -> None:
    port = free_port()
    address = f"tls://127.0.0.1:{port}"
    with scheduler(port, "--host", host) as process:
        beyond = {place for place in listening(process) if place[0] != "127.0.0.1"}
        assert beyond <= {(host, port)}, "its pages stay here"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert certificates(folder).key.stat().st_mode & 0o777 == 0o600
        with Client(address, security=security(), timeout=PATIENCE) as client:
            assert client.scheduler_info()["workers"] == {}
        assert "CERTIFICATE_REQUIRED" in refusal(port)


def scheduler(port: int, *words: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """A scheduler that is up."""
    return started_member("scheduler", "--port", str(port), *words, up=SCHEDULER_IS_UP)


@contextmanager
def started_member(*words: str, up: str) -> Iterator[subprocess.Popen[str]]:
    with member(*words, up=up) as (process, _):
        yield process


STRANGER = """
import socket, ssl, sys

def refused(context):
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60) as stream:
        try:
            with context.wrap_socket(stream) as secured:
                return secured.recv(1)  # TLS 1.3 refuses after the handshake of the client
        except ssl.SSLError as error:
            return error.reason

context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
if len(sys.argv) > 2:
    context.load_cert_chain(*sys.argv[2:])
print(refused(context))
"""


def refusal(port: int, *certificate: str, **identity: Any) -> str:
    """The TLS alert that a port of a member answers with; `identity`: the user who asks."""
    command = ["/usr/bin/python3", "-c", STRANGER, str(port), *certificate]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/", **identity)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_holder_of_another_certificate_is_refused(tmp_path: Path) -> None:
    port, other = free_port(), make_certificates(tmp_path / "other")
    with scheduler(port):
        assert "UNKNOWN_CA" in refusal(port, str(other.certificate), str(other.key))


def test_a_client_without_tls_gets_nothing(certified: Certificates) -> None:
    port = free_port()
    with scheduler(port), pytest.raises(OSError):
        Client(f"tcp://127.0.0.1:{port}", timeout=5)


def test_another_user_of_this_machine_gets_neither_in_nor_at_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if os.geteuid():
        pytest.skip("only root becomes another user")
    port = free_port()
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    with TemporaryDirectory() as open_folder:
        Path(open_folder).chmod(0o755)
        monkeypatch.setenv(FOLDER, f"{open_folder}/cluster")
        with scheduler(port) as process:
            pages = {at for _, at in listening(process)} - {port}
            assert "CERTIFICATE_REQUIRED" in refusal(port, **nobody)
            assert all(has_no_page(at) for at in pages)
        command = ["cat", str(certificates().key)]
        done = subprocess.run(command, capture_output=True, check=False, **nobody)
    assert done.returncode and b"Permission denied" in done.stderr


def has_no_page(port: int) -> bool:
    """Whether Dask's own HTTP server there serves its list of pages only, which names no other."""
    with urlopen(f"http://127.0.0.1:{port}/sitemap.json", timeout=PATIENCE) as answer:
        return bool(json.load(answer) == {"paths": ["/sitemap.json"]})


def test_dask_s_own_deployers_take_the_certificate(certified: Certificates) -> None:
    """As docs/guides/clusters.md has it for dask-jobqueue."""
    with LocalCluster(
        n_workers=1, processes=False, protocol="tls://", security=security(), dashboard_address=None
    ) as cluster:
        assert cluster.scheduler_address.startswith("tls://")
        with Client(cluster.scheduler_address, security=security()) as client:
            assert client.submit(sum, [1, 2]).result(PATIENCE) == 3
            (address,) = client.scheduler_info()["workers"]
        assert address.startswith("tls://")


def test_the_first_lines_are_the_commands_for_workers_and_sweeps(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_module, "run_scheduler", lambda *_: None)
    done = CliRunner().invoke(tcplab, ["scheduler", "--host", "::1"])
    assert done.exit_code == 0 and str(folder) in done.output
    assert "./tcplab worker tls://[::1]:8786\n" in done.output
    assert "./tcplab sweep EXPERIMENT --scheduler tls://[::1]:8786\n" in done.output
    everywhere = CliRunner().invoke(tcplab, ["scheduler", "--host", "0.0.0.0"]).output
    assert f"tls://{socket.gethostname()}:8786" in everywhere


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
    with scheduler(port) as process:
        process.send_signal(signal.Signals[ending])
        process.communicate(timeout=PATIENCE)  # to the end of the pipe, which a child would hold
        with socket.create_server(("127.0.0.1", port)):
            pass


@pytest.mark.virtual
@pytest.mark.parametrize("ending", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_a_worker_stays_on_loopback_like_its_scheduler(ready_lab: Lab, ending: str) -> None:
    at, own = free_port(), free_port()
    words = ["worker", f"tls://127.0.0.1:{at}", "--slots", "1", "--port", str(own)]
    with scheduler(at), started_member(*words, up=WORKER_IS_UP) as process:
        assert ("127.0.0.1", own) in listening(process)
        assert {host for host, _ in listening(process)} == {"127.0.0.1"}
        assert "CERTIFICATE_REQUIRED" in refusal(own)
        assert all(has_no_page(port) for _, port in listening(process) if port != own)
        process.send_signal(signal.Signals[ending])
        process.communicate(timeout=PATIENCE)
        with socket.create_server(("127.0.0.1", own)):
            pass


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:8786", "127.0.0.1:8786", "lab1", "inproc://"])
def test_an_address_without_tls_is_refused_everywhere(address: str) -> None:
    no_lab: Any = None
    done = CliRunner().invoke(tcplab, ["worker", address])
    assert done.exit_code == 2 and "is not tls://HOST:PORT" in done.output
    with pytest.raises(UsageError, match="other users of that machine"):
        runner_for(no_lab, [], None, address)


def test_the_command_for_certificates_makes_them_once(folder: Path) -> None:
    first, second = (CliRunner().invoke(tcplab, ["cluster", "certificates"]) for _ in range(2))
    assert first.exit_code == second.exit_code == 0
    assert first.output == second.output == f"{folder}/certificate.pem\n{folder}/key.pem\n"


def test_a_machine_without_the_certificate_is_told_to_copy_it(folder: Path) -> None:
    done = CliRunner().invoke(tcplab, ["worker", "tls://127.0.0.1:8786"])
    assert done.exit_code == 1 and f"scp -pr HOST:{folder} {folder}" in done.output


def test_a_certificate_that_another_user_made_is_not_used(certified: Certificates) -> None:
    if os.geteuid():
        pytest.skip("only root gives a file to another user")
    os.chown(certified.key, 65534, 65534)
    with pytest.raises(TcplabError, match="Another user made"):
        certificates()


def test_schedulers_that_start_at_once_have_one_certificate(folder: Path) -> None:
    with ThreadPoolExecutor(4) as starting:
        made = list(starting.map(lambda _: certificates_or_made().key.read_bytes(), range(4)))
    assert len({*made}) == 1 and {file.name for file in folder.iterdir()} == {
        *("certificate.pem", "key.pem")
    }


def test_an_address_that_cannot_be_is_one_sentence(
    capfd: pytest.CaptureFixture[str], certified: Certificates
) -> None:
    with pytest.raises(UsageError, match="is no scheduler's address"):
        cluster_module.towards("tls://")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with pytest.raises(TcplabError, match=r"did not start at 127.0.0.1.*already in use"):
            cluster_module.run_scheduler("127.0.0.1", int(port), certified)
    with pytest.raises(TcplabError, match="did not start at no such host"):
        cluster_module.run_scheduler("no such host", int(port), certified)
