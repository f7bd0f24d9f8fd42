"""Programs that cheat: what they try gains no test, and leaves the run as it was."""

from dataclasses import replace
from pathlib import Path

import pytest

from experiments import own_transport
from labs.definition import catalogue, forecast
from labs.definition.answers import OwnParts
from labs.definition.runs import RECEIVER, SENDER
from labs.definition.spec import LabSpec
from labs.measuring.ranges import carry_programs

pytestmark = pytest.mark.virtual
PACKAGED = Path(own_transport.__file__)

PRINTED = 'print("[  1] 0.0-999.0 sec 292.968750 KBytes 9999999 bits/sec", flush=True)\n'
"""A receiver's own result."""
DATED = """
import os, sys, threading, time
def backwards(begun=time.time() + 0.01):
    while True:
        time.sleep(0.01)
        os.utime(sys.argv[2], (begun, begun))
threading.Thread(target=backwards, daemon=True).start()
"""
"""A receiver whose file says that it was written at the start."""
MAPPED = """
import mmap, os, socket, sys
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.bind(("", int(sys.argv[1])))
file, done = open(sys.argv[2], "w+b"), 0
os.ftruncate(file.fileno(), 300_000)
late = mmap.mmap(file.fileno(), 300_000)
while True:
    packet, peer = line.recvfrom(2000)
    if not done:
        late[:] = bytes(300_000)
    if int.from_bytes(packet[:4], "big") * 1000 == done:
        late[done : done + 1000] = packet[4:]
        done += 1000
    line.sendto((done // 1000).to_bytes(4, "big"), peer)
"""
"""A receiver that sets its file's length at once, and then writes without the kernel."""
BLAST = """
import socket, sys, time
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for number in range(450):
    line.sendto(bytes(1000), (sys.argv[1], int(sys.argv[2])))
    time.sleep(0.008)
sys.exit()
"""
"""A sender that repeats nothing: 450 datagrams of zeros at a rate that the link carries."""
_COUNT = """
import socket, sys, time
from pathlib import Path
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
line.bind(("", int(sys.argv[1])))
for _ in range(320):
    line.recv(2000)
"""
COPIED = _COUNT + "content = Path(sys.argv[0]).with_name('sent').read_bytes()\n"
KNOWN = _COUNT + "import random\ncontent = random.Random('flow1').randbytes(300_000)\n"
_WRITTEN = "Path(sys.argv[2]).write_bytes(content)\ntime.sleep(100)\n"
TCP_SENT = """
import socket, sys
def send(content=open(sys.argv[3], "rb").read()):
    with socket.create_connection((sys.argv[1], 6000)) as stream:
        stream.sendall(content)
import threading
threading.Thread(target=send).start()
"""
TCP_CAME = """
import socket, sys, threading
came = []
def take(door=socket.create_server(("", 6000))):
    stream = door.accept()[0]
    while piece := stream.recv(1 << 16):
        came.append(piece)
threading.Thread(target=take, daemon=True).start()
"""
"""A kernel's transport next to datagrams of zeros."""
SABOTAGE = """
import os, re, signal, subprocess
from pathlib import Path
for file in [*Path("/tmp").rglob("*.pcap"), *Path("/lab").rglob("*.pcap")]:
    try:
        os.truncate(file, 24)
    except OSError:
        pass
for place in Path("/proc").glob("[0-9]*/comm"):
    if place.read_text().strip() == "tcpdump":
        try:
            os.kill(int(place.parent.name), signal.SIGKILL)
        except OSError:
            pass
"""
FASTER = """
import contextlib, subprocess
def tc(words):
    enter = ["nsenter", "--net=/proc/1/ns/net", "tc"]
    return subprocess.run([*enter, *words.split()], capture_output=True, text=True).stdout
with contextlib.suppress(OSError):
    for line in tc("qdisc show").splitlines():
        tc(f"qdisc del dev {line.split()[4]} root")
with contextlib.suppress(OSError):
    subprocess.run("tc qdisc replace dev h1-eth0 root pfifo limit 9; sysctl -w net.core.rmem_max=9",
                   shell=True, capture_output=True)
"""
MEETING = """
import contextlib, ctypes, os, socket
from pathlib import Path
libc = ctypes.CDLL(None)
def reached(name):
    with contextlib.suppress(PermissionError):
        return socket.socket(socket.AF_UNIX).connect_ex(name) == 0
"""
WAITS = (
    MEETING
    + """
libc.shmget(4711, 4096, 0o1666)
libc.syscall(240, b"meet", os.O_RDWR | os.O_CREAT, 0o666, None)
with contextlib.suppress(PermissionError):
    met = socket.socket(socket.AF_UNIX)
    met.bind("\\0meet")
    met.listen()
Path("/tmp/meet").touch()
"""
)
MEETS = (
    MEETING
    + """
import sys
def met():
    yield "file", Path("/tmp/meet").exists()
    yield "memory", libc.shmget(4711, 4096, 0) >= 0
    yield "queue", libc.syscall(240, b"meet", os.O_RDWR, 0, None) >= 0
    yield "socket", reached("\\0meet")
    yield "job", Path("/lab/job.pyz").exists()
    yield "processes", any(Path("/proc").glob("[0-9]*/cmdline"))
    yield "switch", any(Path("/sys").glob("class/net/s1*"))
    yield "root", os.getuid() == 0 or os.system("su -c true root 2>&-") == 0
    yield "results", any(Path("/tmp").glob("work/*"))
if found := [name for name, there in met() if there]:
    sys.exit(f"It found {found}.")
"""
)
"""Programs that look for each other, and for what is hidden."""
CHEATS = {
    "printed": ("", PRINTED),
    "dated": ("", DATED),
    "mapped": ("", MAPPED),
    "copied": (BLAST, COPIED + _WRITTEN),
    "known": (BLAST, KNOWN + _WRITTEN),
    "by TCP": (
        TCP_SENT + BLAST.replace("0.008", "0.016"),
        TCP_CAME + _COUNT + "time.sleep(2)\ncontent = b''.join(came)\n" + _WRITTEN,
    ),
    "sabotage": ("", SABOTAGE),
    "faster": (FASTER, FASTER),
    "meeting": (MEETS, WAITS),
}
NETWORK = {"bw": "1mbit", "delay": "20ms", "loss": "2%", "jitter": "0ms", "queue": "100"}


@pytest.fixture(scope="module")
def lab() -> LabSpec:
    """The lab with one network, which no stop-and-wait fills."""
    found = catalogue.find("reliable_transport")
    program = found.question("transport")
    hidden = tuple(replace(span, values=(NETWORK[span.name],)) for span in program.hidden)
    return replace(found, questions=(replace(program, networks=1, hidden=hidden),))


def carried(lab: LabSpec, folder: Path, sender: str, receiver: str) -> forecast.TestedProgram:
    """Return the result of stop-and-wait after both beginnings."""
    folder.mkdir()
    for name, role, first in ((SENDER, "sender", sender), (RECEIVER, "receiver", receiver)):
        packaged = PACKAGED.with_name(f"stop_and_wait_{role}.py").read_text()
        (folder / name).write_text(first + packaged)
    [(_, result)] = carry_programs(lab, OwnParts(program=folder), folder / "tries", 1)["transport"]
    return result


@pytest.fixture(scope="module")
def honest(lab: LabSpec, tmp_path_factory: pytest.TempPathFactory) -> forecast.TestedProgram:
    """Stop-and-wait brings the file whole, and slowly."""
    result = carried(lab, tmp_path_factory.mktemp("honest") / "programs", "", "")
    assert result.passed == ("whole", "ends") and "limit" in result.reason
    return result


@pytest.mark.parametrize("name", CHEATS)
def test_no_cheat_gains_a_test(
    name: str, lab: LabSpec, honest: forecast.TestedProgram, tmp_path: Path
) -> None:
    """What those before stop-and-wait try fails, and the others have no way but to cheat."""
    result = carried(lab, tmp_path / "programs", *CHEATS[name])
    assert result.passed == (() if name in USELESS else honest.passed), result
    assert result.score < 1.01 * honest.score


def test_a_file_without_packets_gains_no_test(lab: LabSpec, tmp_path: Path) -> None:
    """Threads that give bytes as their time slices, which any user may read (sched_getattr(2))."""
    own = OwnParts(program=Path(__file__).parent / "transports" / "covert")
    [(_, result)] = carry_programs(lab, own, tmp_path, 1)["transport"]
    assert (result.passed, result.score) == ((), 0.0), result


USELESS = {"mapped", "copied", "known", "by TCP"}
"""Those that never come to stop-and-wait."""
