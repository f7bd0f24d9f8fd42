"""Scripts whose outcome needs no exchange of packets: generated for tests of free points."""

from itertools import product

LISTENING = """\
   0   socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
  +0   setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4) = 0
  +0   bind(3, ..., ...) = 0
  +0   listen(3, 1) = 0
"""
CONNECTED = f"""\
{LISTENING}\
  +0   < S 0:0(0) win 65535 <mss 1000>
  +0   > S. 0:0(0) ack 1 <...>
  +.1  < . 1:1(0) ack 1 win 65535
  +0   accept(3, ..., ...) = 4
"""
PERMITTED_CALLS = (
    "socket(..., SOCK_STREAM, IPPROTO_TCP)",
    "bind(3, ..., ...)",
    "listen(3, 1)",
    "accept(3, ..., ...)",
    "connect(3, ..., ...)",
    "read(3, ..., 10)",
    "recv(3, ..., 10, MSG_DONTWAIT)",
    "write(3, ..., 10)",
    "send(3, ..., 10, MSG_DONTWAIT)",
    "shutdown(3, SHUT_RDWR)",
    "close(3)",
    "fcntl(3, F_GETFL)",
    "fcntl(3, F_SETFL, O_RDWR|O_NONBLOCK)",
    "getsockopt(3, SOL_SOCKET, SO_ERROR, [0], [4])",
    "getsockopt(3, SOL_SOCKET, SO_ERROR, [3], [4])",
    "setsockopt(3, SOL_SOCKET, SO_RCVBUF, [10000], 4)",
    "setsockopt(3, SOL_TCP, TCP_NODELAY, [1], 4)",
    "setsockopt(3, SOL_TCP, TCP_SYNCNT, [2], 4)",
    'setsockopt(3, SOL_TCP, TCP_CONGESTION, "reno", 4)',
)
FORBIDDEN_CALLS = (
    'open("set_other_kernel.sh", O_RDONLY)',
    'open("script.pkt", O_RDONLY)',
    'open("/proc/sys/net/ipv4/tcp_reordering", O_RDONLY)',
    'open("/lab/out/outcomes.jsonl", O_WRONLY|O_APPEND)',
    'open("/proc/1/root/lab/out/outcomes.jsonl", O_WRONLY|O_APPEND)',
    "sendfile(3, 4, [0], 100)",
    "splice(3, 0, 4, 0, 100, 0)",
    "pipe([5, 6])",
    "cap_set(CAP_EFFECTIVE, CAP_NET_ADMIN, CAP_CLEAR)",
    "epoll_create(1)",
    "epoll_ctl(5, EPOLL_CTL_ADD, 3, {events=EPOLLIN, fd=3})",
    "epoll_wait(5, {events=EPOLLIN, fd=3}, 1, 0)",
    "poll([{fd=3, events=POLLIN, revents=0}], 1, 0)",
    "ioctl(3, SIOCINQ, [0])",
    "readv(3, [{..., 10}], 1)",
    "writev(3, [{..., 10}], 1)",
    "recvmsg(3, {msg_name(...)=..., msg_iov(1)=[{..., 10}], msg_flags=0}, MSG_ERRQUEUE)",
    "sendmsg(3, {msg_name(...)=..., msg_iov(1)=[{..., 10}], msg_flags=0}, 0)",
    "sendto(3, ..., 10, MSG_FASTOPEN, ..., ...)",
    "recvfrom(3, ..., 10, 0, ..., ...)",
    "psp_rx_assoc(3, [0])",
    "psp_tx_assoc(3, 0)",
    "fcntl(3, F_DUPFD, 9)",
    "fcntl(3, F_SETOWN, 1)",
    "setsockopt(3, SOL_SOCKET, SO_MARK, [1], 4)",
    'setsockopt(3, SOL_SOCKET, SO_BINDTODEVICE, "lo", 2)',
    'getsockopt(3, SOL_TCP, TCP_CONGESTION, "cubic", [5])',
    'getsockopt(3, SOL_TCP, TCP_INFO, "a", [1])',
    "getsockopt(3, SOL_TCP, TCP_MAXSEG, [536], [4])",
    "getsockopt(3, SOL_SOCKET, SO_RCVBUF, [131072], [4])",
    "socket(AF_INET, SOCK_RAW, IPPROTO_TCP)",
    "socket(AF_PACKET, SOCK_RAW, 0)",
    "socket(..., SOCK_DGRAM, IPPROTO_UDP)",
    "fork()",
)
TELLING = ("`test $(sysctl -n net.ipv4.tcp_reordering) = 3`", "%{ assert tcpi_reordering == 3 }%")
"""Statements whose outcome differs between the kernels, though no packet does."""
_RESULTS = ("0", "5", "-1")
"""Success, a new descriptor, and any error: packetdrill compares an errno only if one is given."""
_CREATED = CONNECTED[: CONNECTED.index("  +0   setsockopt")]
_STATES = (_CREATED, LISTENING, CONNECTED)
"""Beginnings of CONNECTED, after each of which a call is tried."""
_WITHOUT_CALLS = {
    "handshake": CONNECTED,
    "handshake and nothing for long": f"{CONNECTED}+300 close(4) = 0\n",
    "handshake with all options": CONNECTED.replace(
        "<mss 1000>", "<mss 1000,sackOK,TS val 1 ecr 0,nop,wscale 7>"
    ),
    "handshake in the wrong window": CONNECTED.replace("ack 1 <...>", "ack 1 win 1 <...>"),
    "an end at once": f"{CONNECTED}+0 close(4) = 0\n+0 > F. 1:1(0) ack 1\n",
    "a packet of no connection": f"{CONNECTED}+0 < . 5000:6000(1000) ack 1 win 65535\n"
    "+0 > . 1:1(0) ack 1\n",
    "data and its ACK": f"{CONNECTED}+0 write(4, ..., 1000) = 1000\n+0 > P. 1:1001(1000) ack 1\n"
    "+.1 < . 1:1(0) ack 1001 win 65535\n",
}


def constant_scripts() -> dict[str, str]:
    """Return scripts by name: permitted calls in every state of a socket, and equal packets."""
    calls = {
        f"{call} = {result} after {len(before.splitlines())} lines": _with(call, result, before)
        for call, result, before in product(PERMITTED_CALLS, _RESULTS, _STATES)
    }
    return calls | _WITHOUT_CALLS


def unchecked_scripts() -> dict[str, str]:
    """Return scripts by name that are refused, and would differ between kernels or could have."""
    calls = {
        f"{call} = {result}": _with(call, result, CONNECTED)
        for call, result in product(FORBIDDEN_CALLS, _RESULTS)
    }
    return calls | {telling: f"{CONNECTED}+0 {telling}\n" for telling in TELLING}


def _with(call: str, result: str, before: str) -> str:
    return CONNECTED.replace(before, f"{before}  +0   {call} = {result}\n")
