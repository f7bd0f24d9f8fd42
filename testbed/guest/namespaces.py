"""Network namespaces of hosts: entering one, and the kernel settings in it (ip-sysctl.rst).

A fork costs milliseconds in the lab kernel, so this process reaches everything that is a file or a
socket itself: setns(2) moves only the calling thread.
"""

import ctypes
import os
import resource
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from topologies.errors import TcplabError

_LONGEST_SYSCTL = 4096  # bytes
_CLONE_NEWNET = 0x40000000  # include/uapi/linux/sched.h
_libc = ctypes.CDLL(None, use_errno=True)


@contextmanager
def network_namespace(pid: int) -> Iterator[None]:
    """Move the calling thread into the network namespace of process `pid`. Raises OSError."""
    if pid == os.getpid():  # /proc would lead where the main thread is now, perhaps to a host
        yield
        return
    # /proc/thread-self is younger than Linux 3.13.
    home = os.open(f"/proc/self/task/{_libc.gettid()}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        target = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _enter(target)
        finally:
            os.close(target)
        try:
            yield
        finally:
            _enter(home)
    finally:
        os.close(home)


def _enter(descriptor: int) -> None:
    if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"setns: {os.strerror(number)}")


def set_sysctl(name: str, value: str) -> str:
    """Set a sysctl in the thread's namespace; return what it then is. Raises OSError."""
    with open(_sysctl_file(name), "r+b", buffering=0) as file:
        file.write(value.encode())
        return " ".join(os.pread(file.fileno(), _LONGEST_SYSCTL, 0).decode().split())


def get_sysctl(name: str) -> str:
    return " ".join(Path(_sysctl_file(name)).read_text().split())


def has_sysctl(name: str) -> bool:
    return os.path.exists(_sysctl_file(name))


def _sysctl_file(name: str) -> str:
    return "/proc/sys/" + name.replace(".", "/")


HOST_SYSCTLS: dict[str, str] = {
    # Routes would otherwise remember ssthresh and RTT of one connection for the next one.
    "net.ipv4.tcp_no_metrics_save": "1",
    # The kernel's defaults, written down: a distribution or an administrator may have changed them.
    "net.ipv4.tcp_congestion_control": "cubic",
    "net.ipv4.tcp_sack": "1",
    "net.ipv4.tcp_dsack": "1",
    "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_recovery": "1",  # RACK
    "net.ipv4.tcp_early_retrans": "3",  # tail loss probes
    "net.ipv4.tcp_max_reordering": "300",  # before the next, which can be no higher
    "net.ipv4.tcp_reordering": "3",
    "net.ipv4.tcp_frto": "2",
    "net.ipv4.tcp_ecn": "2",  # only if the other side asks
    "net.ipv4.tcp_slow_start_after_idle": "1",
    # Linux derives these from its memory; a laptop and a lab kernel must agree. They are those of a
    # computer with Linux 6.1 and 768 MB or more (docs/concepts/virtual-time.md).
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    # Router and neighbour discovery would appear in captures and counters.
    "net.ipv6.conf.all.disable_ipv6": "1",
}

# Of the namespace that the switches are in: its own packets would leave through the ports and be
# captured.
SWITCH_SYSCTLS: dict[str, str] = {
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
}

# If the kernel has it (6.1 and later): hosts that are made from now on have a table of connections
# of their own. A request for a host's sockets walks through its whole table; the common one has
# 8192 rows and the sockets of all hosts.
CONNECTION_TABLE = ("net.ipv4.tcp_child_ehash_entries", "512")

# Of the whole kernel, if it may be set. A packet that crosses a cable waits in this queue for its
# receiver. The usual 1000 places would lose a burst of a fast sender, and no queue of the network
# would count it (experiments/wan_reordering/README.md).
CABLES = ("net.core.netdev_max_backlog", "1000000")

# Of the whole kernel as well: neighbours of all hosts together. Before Linux 5.0 those that are
# permanent, as all of ours, count for the limit, which is usually 1024: forty hosts that know each
# other are more.
NEIGHBOURS = ("net.ipv4.neigh.default.gc_thresh3", "1000000")

ROUTER_SYSCTLS: dict[str, str] = {
    "net.ipv4.ip_forward": "1",
    # A packet may come back another way than it went.
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.all.send_redirects": "0",
    "net.ipv6.conf.all.disable_ipv6": "1",
}


CONGESTION_CONTROL = "net.ipv4.tcp_congestion_control"
_DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")
_ALLOWED = _DEFAULT.with_name("tcp_allowed_congestion_control")


_LACKING = "This kernel lacks the module behind it: modprobe tcp_NAME."
_DESCRIPTORS = 4096  # the most that the kernel grants to root of a guest


def set_if_known(node: str, name: str, value: str) -> str | None:
    """Set a sysctl of the thread's namespace; None if it has none of that name."""
    try:
        actual = set_sysctl(name, value)
    except OSError as error:
        if not has_sysctl(name):
            return None
        problem = f"{node}: {name} cannot be set to {value}: {error.strerror}."
        remedy = _LACKING if name == CONGESTION_CONTROL else "Choose another value."
        raise TcplabError(problem, remedy) from error
    if actual != " ".join(value.split()):
        problem = f"{node}: {name} was to be {value}, the kernel has {actual}."
        raise TcplabError(problem, "Choose a value it accepts.")
    return actual


def prepare_switches() -> None:
    """Set up our own namespace, which the switches share; each host takes three descriptors."""
    for name, value in SWITCH_SYSCTLS.items():
        set_if_known("the switches", name, value)
    for name, value in (CONNECTION_TABLE, CABLES, NEIGHBOURS):
        if has_sysctl(name):
            set_if_known("the hosts", name, value)
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(_DESCRIPTORS, hard), hard))


def available_algorithms() -> list[str]:
    return _DEFAULT.with_name("tcp_available_congestion_control").read_text().split()


def default_algorithm() -> str:
    return _DEFAULT.read_text().strip()


def allowed_algorithms() -> list[str]:
    """Return the algorithms that every namespace may choose."""
    return _ALLOWED.read_text().split()


def allow_algorithms(algorithms: Iterable[str]) -> None:
    """Let every namespace choose exactly these. In the first namespace only."""
    _ALLOWED.write_text(" ".join(dict.fromkeys(algorithms)))


def permit_algorithms_of(sysctls: tuple[tuple[str, str], ...]) -> None:
    """Permit the algorithm that these settings name, if the kernel has and restricts it."""
    free = allowed_algorithms()
    for name, value in sysctls:
        if name == CONGESTION_CONTROL and value in available_algorithms() and value not in free:
            allow_algorithms([*free, value])
