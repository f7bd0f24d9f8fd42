"""The statements that a handed-in packetdrill script may have, and attempts to hide others."""

import subprocess
from pathlib import Path

import pytest

from labs.definition.scripts import _CALLS, check_statements, handed_in_script, outbound_lines
from testbed.packetdrill.scripts import Script
from tests.labs.constant_scripts import CONNECTED, FORBIDDEN_CALLS, LISTENING
from tests.labs.test_scripts_handed_in import AT_ONCE, NOTHING, SPACED, WRONG
from topologies.errors import UsageError

BACKGROUND = Path(__file__).parents[2] / "labs/retransmission/text/en/background.md.j2"
SHAPES = """\
/* A comment **/ that goes on
   "for two lines" */  0 socket(AF_INET, SOCK_STREAM|SOCK_NONBLOCK, 0) = 3 // `no command`
+0	connect(3, ..., ...) = -1 EINPROGRESS (Operation now in progress) // %{ no Python }%
+0>S 0:0(0)<...>
+.01<S. 0:0(0)ack 1 win 65535<mss 1000,nop,wscale 7,sackOK,TS val 1 ecr 2,eol,nop,nop,nop>
+0 > [ect0] . 1:1(0) /* in the middle */ ack 1 win 512 <nop,nop,TS val 3 ecr 1>
+0 fcntl(3, F_GETFL) = 0x802 (flags O_RDWR O_NONBLOCK)
+0...0.5 read(3, ..., 1000) = 0
+0 setsockopt(3, SOL_TCP, TCP_CONGESTION, "reno", 4) = 0
+0 setsockopt(3, SOL_SOCKET, SO_LINGER, {onoff=1, linger=0}, 8) = 0
+.1~+.2 > F. 1:1(0) ack 1 urg 0
1.5 < - 1:1(0) win 5
1.6 < . 1:1(0) ack 2 win 5 <sack 1:2 3:4,nop,nop>
"""
HIDDEN = {
    "a comment that ends sooner than it seems": "/* a */ +0 close(7) = 0 /* b */",
    "a comment that is not closed": "/* +0 close(7) = 0",
    "a comment that flex closes": "/* **/ a */ `id` /* b */",
    "a string around a comment": '"/*" `id` "*/"',
    "a string with an escaped end": '+0 open("a\\" // ", O_RDONLY) = 5',
    "a string over two lines": '"\n`id`\n"',
    "a comment sign of other languages": "# +0 close(3) = 0",
    "two statements in a line": "+0 > . 1:1(0) ack 1 +0 close(3) = 0",
    "a call within the options": "+0 > . 1:1(0) <mss 5> close(3) = 0",
    "a statement over two lines": "+0\nclose(3) = 0",
    "an option": "--so_filename=/tmp/a.so",
    "an option with its value in quotes": '--remote_ip="1.2.3.4;id"',
    "a definition": "--define=close=open",
    "a number for a name": "+0 socket(1, 3, 0) = 5",
    "a number more": "+0 socket(AF_INET|1, SOCK_STREAM, IPPROTO_TCP) = 5",
    "a raw socket": "+0 socket(AF_INET, SOCK_RAW, IPPROTO_TCP) = 5",
    "a datagram socket": "+0 socket(..., SOCK_DGRAM, IPPROTO_UDP) = 5",
    "a name that another begins with": "+0 closeall(3) = 0",
    "another spelling": "+0 OPEN(3) = 0",
    "output of packetdrill": "+0 write(1, ..., 10) = 10",
    "a descriptor of packetdrill": "+0 close(7) = 0",
    "a descriptor that comes later": "+0 close(4) = 0\n+0 accept(3, ..., ...) = 4",
    "a descriptor by sum": "+0 close(3|4) = 0",
    "a descriptor in another base": "+0 close(0x3) = 0",
    "a minus sign": "+0 close(-3) = 0",
    "an address": "+0 bind(3, {sa_family = AF_INET, sin_port = htons(80), sin_addr = "
    'inet_addr("1.2.3.4")}, ...) = 0',
    "memory": "+0 write(3, ..., 2000000000) = 1",
    "an option of the kernel's value": '+0 getsockopt(3, SOL_TCP, TCP_INFO, "a", [1]) = 0',
    "an option of long value": "+0 setsockopt(3, SOL_SOCKET, SO_REUSEADDR, [1], 4000) = 0",
    "a filter": '+0 setsockopt(3, SOL_SOCKET, SO_ATTACH_FILTER, "a", 1) = 0',
    "any time": "* > . 1:1(0) ack 1",
    "another protocol": "+0 < udp (100)",
    "a tunnel": "+0 < gre: . 1:1(0) ack 1",
    "an unequal sign": "+0 close(3) = 0 = 0",
    "a vertical tab": "+0\vclose(3) = 0",
    "a space of another script": "+0\N{NO-BREAK SPACE}close(3) = 0",
    "a line of another script": "// a\N{LINE SEPARATOR}\n\N{LINE SEPARATOR}+0 close(3) = 0",
    "digits of another script": "+0 close(\N{ARABIC-INDIC DIGIT THREE}) = 0",
    "a carriage return": "+0 close(3) = 0\r",
    "a byte order mark": "\N{ZERO WIDTH NO-BREAK SPACE}+0 close(3) = 0",
}


def template() -> str:
    """Return the script that the lab's background shows."""
    return BACKGROUND.read_text().split("```\n")[1]


def script(text: str) -> Script:
    return Script("my.pkt", text, {})


@pytest.mark.parametrize("text", [SPACED, AT_ONCE, NOTHING, WRONG, SHAPES, template()])
def test_packets_and_calls_of_own_sockets_are_accepted(text: str) -> None:
    check_statements(script(text))


@pytest.mark.parametrize("what", HIDDEN)
def test_no_other_statement_can_be_hidden(what: str) -> None:
    with pytest.raises(UsageError, match=r"^Line \d+ of 'my.pkt'") as refused:
        check_statements(script(f"{LISTENING}{HIDDEN[what]}\n{CONNECTED}"))
    assert refused.value.remedy


@pytest.mark.parametrize("call", FORBIDDEN_CALLS)
def test_every_other_call_of_packetdrill_is_refused_with_its_line(call: str) -> None:
    line = NOTHING.count("\n") + 1
    with pytest.raises(UsageError, match=rf"^Line {line} of 'my.pkt' "):
        check_statements(script(f"{NOTHING}+0 {call} = 0\n"))


@pytest.mark.parametrize("text", ["// nothing\n", "", "0 socket(..., SOCK_STREAM, 0) = 3\n"])
def test_a_script_that_expects_no_packet_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="expects no packet"):
        check_statements(script(text))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("open('a', O_RDONLY)", "calls open"),
        ("close(9)", "the descriptor 9"),
        ("listen(3)", "other arguments"),
    ],
)
def test_a_refusal_says_what_is_wrong(call: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence.replace("(", r"\(")):
        check_statements(script(f"{NOTHING}+0 {call} = 0\n"))


def test_the_lines_of_the_kernels_packets_are_known() -> None:
    assert outbound_lines(script(SHAPES)) == {4, 6, 11}


def test_no_script_takes_long_to_check() -> None:
    """Lines that would take hours if the time grew with the square of their number."""
    for text in ("/*" * 32_000, "(" * 64_000, "+0 close(" + " ) = 0" * 9_000, '"a' * 32_000):
        with pytest.raises(UsageError):
            check_statements(script(text))


def test_the_last_line_may_be_a_comment_without_its_end(tmp_path: Path) -> None:
    (tmp_path / "my.pkt").write_text(f"{SPACED}// the end")
    assert handed_in_script(tmp_path, "my.pkt").text.endswith("// the end\n")


@pytest.mark.virtual
def test_packetdrill_reads_everything_that_is_accepted(program: Path, tmp_path: Path) -> None:
    """The program only reads the scripts, here; it runs none of them."""
    examples = "".join(f"+0 {example}\n" for _, example in _CALLS.values())
    for text in (SHAPES, SPACED, template(), examples):
        (tmp_path / "my.pkt").write_text(text)
        done = subprocess.run(
            [program, "--dry_run", "my.pkt"], cwd=tmp_path, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
