"""A module with many attacks on the computer on which its guest runs; a parameter chooses one.

`host(CALL, ...)` in their code is a system call of this computer: a module is code of the guest's
process. What it returned goes to the guest's console as `attack RESULT`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "experiments/custom_cc/exp.c"
_BEGINNING = r"""
#include <linux/delay.h>
#include <linux/kmod.h>

static int which;
module_param(which, int, 0);
static char room[1 << 16];

static long host_call(long number, long a, long b, long c, long d, long e)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = 0;
	long result;

	asm volatile("syscall" : "=a"(result)
		: "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return result;
}
#define HOST(number, ...) HOST_(number, ##__VA_ARGS__, 0, 0, 0, 0, 0)
#define HOST_(number, a, b, c, d, e, ...) \
    host_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
#define TELL(value) pr_alert("attack %ld\n", (long)(value))

static long opened(const char *path, int flags)
{
	return HOST(257, -100, path, flags, 0644);
}

static void sleep_outside(long seconds)
{
	long time[2] = { seconds, 0 };

	HOST(35, time, 0);
}
#define WRITING 01101 /* O_WRONLY | O_CREAT | O_TRUNC */

"""
_SYSTEM_CALL = "system call of this computer that no guest makes"


@dataclass(frozen=True)
class Attack:
    """`code` runs when the module is loaded; `refused` matches the console's `attack` line.

    `message` is in the error that the run ends with; without it the run ends well.
    """

    name: str
    code: str
    message: str = ""
    refused: str = ""


def source(attacks: Sequence[Attack], name: str = "attack") -> str:
    """The source of a module of that name: exp, which first makes the chosen attack."""
    functions = [
        f"static void attack_{number}(void)\n{{\n\tint i = 0;\n\n\t(void)i;\n\t{attack.code}\n}}\n"
        for number, attack in enumerate(attacks)
    ]
    names = ", ".join(f"attack_{number}" for number in range(len(attacks)))
    table = f"static void (*attacks[])(void) = {{ {names} }};\n\n"
    before, main = (
        EXAMPLE.read_text().replace('"exp"', f'"{name}"').split("static u32 exp_slow_start", 1)
    )
    main = main.replace("\treturn tcp_register", "\tattacks[which]();\n\treturn tcp_register", 1)
    return f"{before}{_BEGINNING}{''.join(functions)}{table}static u32 exp_slow_start{main}"


def _forbidden(name: str, call: str) -> Attack:
    return Attack(name, f"HOST({call});", _SYSTEM_CALL)


def _refused(name: str, call: str, results: str) -> Attack:
    return Attack(name, f"TELL({call});", refused=results)


FILES = [
    Attack(
        "a link in the place of the log",
        'HOST(87, "/lab/out/job.log"); HOST(88, "/proc/self/cwd/canary", "/lab/out/job.log");'
        " HOST(231, 1);",
        _SYSTEM_CALL,
    ),
    Attack(
        "a link made by the guest's own ln",
        'char *words[] = {"/usr/bin/ln", "-sf", "/proc/self/cwd/canary", '
        '"/lab/out/job.log", NULL}; char *none[] = {NULL}; '
        "call_usermodehelper(words[0], words, none, UMH_WAIT_PROC);",
        _SYSTEM_CALL,
    ),
    Attack(
        "a FIFO in the place of the events",
        'HOST(87, "/lab/out/events.jsonl"); HOST(133, "/lab/out/events.jsonl", 010644, 0);',
        _SYSTEM_CALL,
    ),
    _forbidden("a hard link", '86, "/lab/out/job.log", "/lab/out/again"'),
    _forbidden("a program with its user's rights", '90, "/lab/out/job.log", 04755'),
    Attack(
        "a terabyte of nothing",
        'i = opened("/lab/out/result.json", WRITING); HOST(77, i, 1L << 40);',
        "larger than any of a run",
    ),
    Attack(
        "a result of 900 MB",
        'i = opened("/lab/out/result.json", WRITING); HOST(77, i, 900 << 20); HOST(231, 0);',
        "more than 1,048,576 bytes",
    ),
    Attack(
        "a result that is nested",
        'i = opened("/lab/out/result.json", WRITING); memset(room, 91, sizeof(room)); '
        "HOST(1, i, room, sizeof(room)); HOST(231, 0);",
        "not what a run writes",
    ),
    Attack(
        "a result of its own",
        'i = opened("/lab/out/result.json", WRITING); '
        'HOST(1, i, "{\\"ok\\": false, \\"problem\\": [1]}", 29); HOST(231, 0);',
        "ended without a result",
    ),
    Attack(
        "events that are nested",
        'i = opened("/lab/out/events.jsonl", WRITING); memset(room, 91, sizeof(room)); '
        "room[65535] = 10; HOST(1, i, room, sizeof(room)); sleep_outside(2);",
        "events.jsonl is not what a run writes",
    ),
    Attack(
        "400 MB on standard error",
        "memset(room, 120, sizeof(room)); for (i = 0; i < 6400; i++) HOST(1, 2, room,"
        " sizeof(room)); HOST(231, 1);",
        "without a result",
    ),
    Attack(
        "a full disk",
        'memset(room, 1, sizeof(room)); for (;; i++) { char name[40]; sprintf(name, "/lab/out/%d",'
        " i / 1000); long file = opened(name, 02101); HOST(1, file, room, sizeof(room)); HOST(3,"
        " file); }",
        "wrote more than",
    ),
    Attack(
        "30 000 files",
        'for (i = 0; i < 30000; i++) { char name[40]; sprintf(name, "/lab/out/%d", i); HOST(3,'
        " opened(name, WRITING)); } for (;;) sleep_outside(1);",
        "wrote more than",
    ),
    Attack(
        "a name with a newline",
        'HOST(3, opened("/lab/out/a\\n[[b]]", WRITING));',
        "cannot be printed",
    ),
    Attack(
        "folders without end",
        'strcpy(room, "/lab/out"); for (i = 0; i < 1900; i++) { strcat(room, "/d"); HOST(83, room,'
        " 0700); }",
        "folders 4 deep",
    ),
    Attack(
        "a locked folder",
        'HOST(83, "/lab/out/locked", 0700); HOST(3, opened("/lab/out/locked/x", WRITING)); '
        'HOST(90, "/lab/out/locked", 0); HOST(90, "/lab/out", 0);',
        "without a result",
    ),
    Attack(
        "files that only the guest sees",
        "for (i = 0; i < 3000; i++) { char name[40]; "
        'sprintf(name, "/tmp/%d", i); HOST(3, opened(name, WRITING)); } for (;;) sleep_outside(1);',
        "files next to its memory",
    ),
    _forbidden("a new file with its user's rights", '257, -100, "/lab/out/x", 0102, 04755'),
    _forbidden(
        "a device in the place of a renamed file",
        '316, -100, "/lab/out/job.log", -100, "/lab/out/x", 4',
    ),
    _refused("a file that others may write to", 'HOST(90, "/lab/out/job.log", 0666)', "-1"),
    _refused("the computer's terminals", 'opened("/dev/ptmx", 2)', "-2|-13"),
    _refused("memory that is a device", 'opened("/dev/zero", 2)', "-2|-13"),
    _refused("memory in a file of /dev/shm", 'opened("/dev/shm/x", WRITING)', "-13"),
    _refused("the memory of the sandbox's first process", 'opened("/proc/1/mem", 2)', "-2|-13"),
    _refused("the folder of who called", 'opened("/proc/self/cwd/canary", 0)', "-2|-13"),
    _refused("what lies above", 'opened("/lab/out/../../etc/passwd", 0)', "-2|-13"),
    _forbidden("a lease that makes readers wait", '72, opened("/lab/out/job.log", 0), 1024, 1'),
    _forbidden("keys typed into a terminal", '16, 0, 0x5412, "x"'),
    Attack(
        "times of another age",
        'long age[4] = {1L << 60, 0, -1L << 60, 0}; HOST(280, -100, "/lab/out", age, 0);',
    ),
]
PROCESSES = [
    _forbidden("a fork", "57"),
    _forbidden("a clone with memory of its own", "56, 17"),
    _forbidden("a thread", "56, 0x10f00, room + 4096"),
    _forbidden("another program", '59, "/lab/init", 0, 0'),
    _forbidden(
        "another program by its descriptor", '322, opened("/lab/init", 0), "", 0, 0, 0x1000'
    ),
    Attack(
        "the stub's descriptor taken over",
        'HOST(3, 8191); TELL(HOST(292, opened("/lab/init", 0), 8191, 0)); HOST(231, 1);',
        "without a result",
        "-9",
    ),
    Attack(
        "more descriptors than allowed",
        "long most[2] = {9000, 9000}; TELL(HOST(302, 0, 7, most, 0));",
        refused="-1",
    ),
    _forbidden("a signal to everybody", "62, -1, 9"),
    _refused("a signal to its group", "HOST(62, 0, 9)", "-1"),
    _forbidden("a signal to the first process", "62, 1, 9"),
    _forbidden("tracing the first process", "101, 16, 1"),
    _forbidden("reading another process", "310, 1, room, 1, room, 1"),
    _forbidden("another processor", "203, 0, 8, room"),
    Attack(
        "the watching pipe closed, and a loop",
        "for (i = 3; i < 64; i++) HOST(3, i); for (;;) barrier();",
        "limit of 10 s",
    ),
]
MEMORY = [
    _refused("memory beyond its own", "HOST(9, 0, 3L << 29, 3, 0x22, -1)", "-12"),
    Attack(
        "memory in small pieces",
        "for (i = 0; i < 100 && HOST(9, 0, 64 << 20, 3, 0x22, -1) > 0; i++) {} TELL(i < 8 ? -12"
        " : i);",
        refused="-12",
    ),
    _forbidden("shared memory without a file", "9, 0, 1 << 20, 3, 0x21, -1"),
    _forbidden("a file in memory", '319, "x", 0'),
    _forbidden("System V shared memory", "29, 0, 1 << 30, 01600"),
    Attack(
        "timers without end",
        "for (i = 0; i < 300000; i++) HOST(222, 1, 0, room); TELL(HOST(222, 1, 0, room));",
        refused="-11",
    ),
]
KERNEL = [
    _forbidden("a session's keys", '249, "user", "tcplab", 0, -3'),
    _forbidden("reading a key", "250, 11, -3, room, 100"),
    _forbidden("new namespaces", "272, 0x50000000"),
    _forbidden("another's namespace", "308, 0, 0"),
    _forbidden("io_uring", "425, 8, room"),
    _forbidden("userfaultfd", "323, 0"),
    _forbidden("a socket of virtual machines", "41, 40, 1, 0"),
    _forbidden("a socket", "41, 1, 1, 0"),
    _forbidden("a raw socket pair, which Linux makes one of datagrams", "53, 1, 3, 0, room"),
    _forbidden("BPF", "321, 0, room, 72"),
    _forbidden("performance counters", "298, room, 0, -1, -1"),
    _forbidden("a mount", '165, "none", "/lab/out", "tmpfs", 0'),
    _forbidden("another root", '161, "/lab"'),
    _forbidden("a file by its handle", "304, 0, room, 0"),
    _forbidden("a call by its 32-bit numbers", "0x40000000 + 57"),
    Attack(
        "a call by the 32-bit gate",
        'asm volatile("int $0x80" : : "a"(310), "b"(0x10000000) : "memory");',
        _SYSTEM_CALL,
    ),
]
FORGERY = Attack(
    "a whole result",
    'i = opened("/lab/out/result.json", WRITING); HOST(1, i, "{\\"ok\\": true, \\"elapsed\\": 9}",'
    " 26); HOST(231, 0);",
)
"""Not refused: a guest's own results are its own. What is made of them must stand it."""
ATTACKS = [*FILES, *PROCESSES, *MEMORY, *KERNEL]
