"""What the guest's code does on a kernel that lacks what newer ones have."""

import errno
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from testbed.guest import namespaces, netlink, network, socket_sampling
from testbed.guest.network import LiveNetwork
from testbed.guest.programs import wait_until_ended
from testbed.host.job_archive import job_archive
from topologies.errors import TcplabError

HANGS = 300.0  # seconds


@pytest.fixture
def old_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """/proc/sys of a host and of the first namespace, as folders `host` and `first`."""
    place = ["first"]

    @contextmanager
    def enter(_pid: int) -> Iterator[None]:
        place[0] = "host"
        yield
        place[0] = "first"

    monkeypatch.setattr(network, "network_namespace", enter)
    monkeypatch.setattr(namespaces, "_sysctl_file", lambda name: str(tmp_path / place[0] / name))
    for folder in ("host", "first"):
        (tmp_path / folder).mkdir()
    return tmp_path


@pytest.fixture
def live() -> LiveNetwork:
    mininet: Any = SimpleNamespace(get=lambda _node: SimpleNamespace(pid=1))
    topology: Any = None
    return LiveNetwork(topology, mininet)


def test_a_setting_of_the_host_is_set_there(old_kernel: Path, live: LiveNetwork) -> None:
    (old_kernel / "host/net.ipv4.tcp_ecn").write_text("2")
    assert live.set_sysctls("h1", {"net.ipv4.tcp_ecn": "1"}) == {"net.ipv4.tcp_ecn": "1"}
    assert (old_kernel / "host/net.ipv4.tcp_ecn").read_text() == "1"
    assert not live.shared_sysctls


def test_a_setting_that_exists_once_is_set_for_all(old_kernel: Path, live: LiveNetwork) -> None:
    (old_kernel / "first/net.ipv4.tcp_sack").write_text("1")
    assert live.set_sysctls("h1", {"net.ipv4.tcp_sack": "0"}) == {"net.ipv4.tcp_sack": "0"}
    assert (old_kernel / "first/net.ipv4.tcp_sack").read_text() == "0"
    assert live.shared_sysctls == {"net.ipv4.tcp_sack"}


def test_what_only_the_baseline_wants_may_be_absent(old_kernel: Path, live: LiveNetwork) -> None:
    name = "net.ipv4.tcp_recovery"
    assert live.set_sysctls("h1", {name: namespaces.HOST_SYSCTLS[name]}) == {}
    assert live.absent_sysctls == {name}


def test_what_a_condition_wants_must_be_there(old_kernel: Path, live: LiveNetwork) -> None:
    with pytest.raises(TcplabError, match=r"no net.ipv4.tcp_recovery, which was to be 0"):
        live.set_sysctls("h1", {"net.ipv4.tcp_recovery": "0"})


def test_a_value_that_the_kernel_does_not_know_is_no_absent_setting(
    old_kernel: Path, live: LiveNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "net.ipv4.tcp_congestion_control"
    (old_kernel / f"host/{name}").write_text("cubic")

    def refuse(_name: str, _value: str) -> str:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))

    monkeypatch.setattr(namespaces, "set_sysctl", refuse)
    with pytest.raises(TcplabError, match="cannot be set to bbr"):
        live.set_sysctls("h1", {name: "bbr"})


def without_pidfd(number: int) -> Callable[[int], int]:
    def refuse(_pid: int) -> int:
        raise OSError(number, os.strerror(number))

    return refuse


def test_the_end_of_a_program_is_seen_without_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pidfd_open", without_pidfd(errno.ENOSYS))
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        assert not wait_until_ended(process, 0.1)
        assert process.stdin
        process.stdin.close()
        assert wait_until_ended(process, HANGS)


def test_other_refusals_of_pidfd_are_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "pidfd_open", without_pidfd(errno.EMFILE))
    with subprocess.Popen(["true"]) as process, pytest.raises(OSError, match="open files"):
        wait_until_ended(process, HANGS)


def refused_with(number: int) -> Callable[..., Any]:
    def refuse(*_arguments: object) -> None:
        raise OSError(number, os.strerror(number))

    return refuse


def test_what_an_interface_does_not_know_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netlink.fcntl, "ioctl", refused_with(errno.EOPNOTSUPP))
    assert {setting.found for setting in netlink.set_offloads("h1-eth0")} == {"off"}
    with pytest.raises(TcplabError, match="was to be on, the kernel keeps it off"):
        netlink.set_offloads("h1-eth0", on=True)


def test_an_interface_that_is_not_there_has_no_offloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(netlink.fcntl, "ioctl", refused_with(errno.ENODEV))
    with pytest.raises(OSError, match="No such device"):
        netlink.set_offloads("h1-eth0")


def test_sockets_are_asked_for_as_before_3_3_if_that_is_all(monkeypatch) -> None:
    asked: list[tuple[int, int]] = []

    def dump(_diag: object, kind: int, request: bytes, _refusal: str) -> Iterator[bytes]:
        asked.append((kind, len(request)))
        if kind == 20:  # SOCK_DIAG_BY_FAMILY
            raise OSError(errno.ENOENT, "")
        return iter(())

    monkeypatch.setattr(socket_sampling, "dump", dump)
    assert socket_sampling.tcp_sockets() == []
    assert asked == [(20, 56), (18, 60)]  # the sizes of inet_diag_req_v2 and inet_diag_req


def test_a_job_says_nothing_of_a_kernel_that_has_all() -> None:
    whole, without = (
        job_archive("experiments.flows.procedure", {}, None, **lacking)
        for lacking in ({}, {"open_vswitch": False})
    )
    assert whole == job_archive("experiments.flows.procedure", {}) != without
