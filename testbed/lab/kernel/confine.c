/*
 * The last program before the lab kernel: it gives up whatever the kernel does not need of this computer, so that
 * a student's module, which is code of the kernel's process, cannot have it either.
 *
 *	confine [OPTION...] UID GID MEMORY FILE PROCESSES SECONDS LINE seccomp|ptrace KERNEL ARGUMENT...
 *
 * becomes that user (0 0: stays who it is), with these limits of bytes of memory and of a file, of processes and of
 * CPU seconds, with the descriptor LINE (-1: none) to take orders from, with a new session keyring, behind Landlock where the host has it and a seccomp filter, and then the
 * kernel. That rules its processes by seccomp, or before Linux 6.16 by ptrace, for which it needs other system calls.
 *
 * Where nobody has made namespaces for the guest, options say what its paths lead to. Then this program stays, as
 * the supervisor (supervisor.c) and parent of the kernel:
 *
 *	--place PATH=HOST	PATH of the guest is HOST of this computer, to be read
 *	--own PATH=HOST		and to be written
 *	--set NAME=VALUE	a variable of the environment, which is empty otherwise
 *	--report NUMBER		the descriptor that is told its process, as by bwrap --info-fd
 *
 * `confine --probe`, started as the kernel, looks at one of its paths and ends: so all of this can be tried.
 * docs/design.md tells what remains possible. Linked statically: it runs where there is no C library.
 */
#define _GNU_SOURCE
#include "confine.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/keyctl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void check(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "lab confine: %s: %s\n", what, strerror(errno));
	exit(1);
}

int opened(const char *path, int flags)
{
	int file = open(path, flags | O_CLOEXEC);

	check(file < 0, path);
	return file;
}

static unsigned long number(const char *text)
{
	return strtoul(text, NULL, 10);
}

/*
 * For an ordinary user bubblewrap has made a user namespace, in which processes and pending signals are counted apart
 * from those of other guests (user_namespaces(7), ucounts). For root this makes one, if the system lets that user.
 */
static void become(uid_t user, gid_t group)
{
	if (user) {
		check(setgroups(0, NULL) || setgid(group) || setuid(user), "become an ordinary user");
		if (unshare(CLONE_NEWUSER))
			errno = 0;
	}
	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "give up new privileges");
}

static void limit(int resource, rlim_t most)
{
	struct rlimit now;

	check(getrlimit(resource, &now), "read a limit");
	now.rlim_max = most < now.rlim_max ? most : now.rlim_max;
	now.rlim_cur = now.rlim_max;
	check(setrlimit(resource, &now), "set a limit");
}

/*
 * Without random addresses, or the kernel would start itself once more (arch/um/os-Linux/main.c). Docker refuses that,
 * and the kernel adds the distance that brk is away from its program to its memory: this is the most
 * (arch_randomize_brk in arch/x86/kernel/process.c).
 */
static rlim_t random_distance(void)
{
	int refused = personality(PER_LINUX | ADDR_NO_RANDOMIZE) < 0;

	check(refused && errno != EPERM, "fix addresses");
	return refused ? 1UL << 30 : 0;
}

/* The guest's memory is a file in /dev/shm that each of its processes maps; beside it they take less than 3 MiB. */
static void set_limits(rlim_t memory, rlim_t file, rlim_t processes, rlim_t seconds)
{
	limit(RLIMIT_AS, memory + (64 << 20));
	limit(RLIMIT_DATA, 32 << 20);
	limit(RLIMIT_FSIZE, file > memory ? file : memory);
	limit(RLIMIT_NPROC, processes);
	limit(RLIMIT_CPU, seconds);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_MEMLOCK, 0);
	limit(RLIMIT_MSGQUEUE, 0);
	limit(RLIMIT_SIGPENDING, 1024); /* timers count as well */
	limit(RLIMIT_NICE, 0);
	limit(RLIMIT_RTPRIO, 0);
}

/* landlock(7), by its numbers: the header of the machine that compiles may be older than the kernel that runs. */
enum {
	EXECUTE = 1 << 0, WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_DIR = 1 << 3, REMOVE_DIR = 1 << 4,
	REMOVE_FILE = 1 << 5, MAKE_DIR = 1 << 7, MAKE_REG = 1 << 8, TRUNCATE = 1 << 14
};
static const struct { const char *path; uint64_t rights; } rules[] = {
	{ "/", READ_FILE | READ_DIR },
	{ "/lab/linux", READ_FILE | EXECUTE },
	{ "/lab/out", WRITE_FILE | TRUNCATE | MAKE_REG | MAKE_DIR | REMOVE_FILE | REMOVE_DIR },
	{ "/tmp", WRITE_FILE | MAKE_REG | MAKE_DIR | REMOVE_FILE | REMOVE_DIR },
	{ "/dev", WRITE_FILE },
};
static const uint64_t known_rights[] = { 0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff }; /* by version */

static void allow_below(int ruleset, int folder, uint64_t rights)
{
	struct { uint64_t rights; int32_t folder; } __attribute__((packed)) rule = { rights, folder };

	check(syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0), "add a Landlock rule");
}

/*
 * Before Linux 6.3 the lab kernel makes its stub a file in /dev/shm. What else is executed there is the filter's matter,
 * which allows the stub's descriptor alone.
 */
static int knows_executable_memory(void)
{
	int file = memfd_create("", MFD_CLOEXEC | MFD_EXEC);

	if (file >= 0)
		close(file);
	return file >= 0;
}

/*
 * Files only where a run has them, no TCP, no signals and abstract sockets outside; nothing where it is unknown. A
 * supervised kernel opens no file itself: it may only be started.
 */
static void enter_landlock(int supervised_kernel)
{
	struct { uint64_t files, net, scoped; } all = { 0 };
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
	int ruleset;

	if (version < 1)
		return;
	all.files = known_rights[version < 5 ? version : 5];
	all.net = version >= 4 ? 3 : 0;
	all.scoped = version >= 6 ? 3 : 0;
	ruleset = syscall(SYS_landlock_create_ruleset, &all, version >= 6 ? 24 : version >= 4 ? 16 : 8, 0);
	check(ruleset < 0, "make a Landlock ruleset");
	if (supervised_kernel >= 0)
		allow_below(ruleset, supervised_kernel, READ_FILE | EXECUTE);
	if (supervised_kernel < 0 && !knows_executable_memory())
		allow_below(ruleset, opened("/dev/shm", O_PATH), MAKE_REG | REMOVE_FILE | EXECUTE);
	for (size_t i = 0; supervised_kernel < 0 && i < LENGTH(rules); i++)
		allow_below(ruleset, opened(rules[i].path, O_PATH), rules[i].rights & all.files);
	check(syscall(SYS_landlock_restrict_self, ruleset, 0), "enter Landlock");
	close(ruleset);
}

/* The numbers of the command line after the options. */
enum { UID, GID, MEMORY, FILE_SIZE, PROCESSES, SECONDS, ORDERS, WAY, GUEST };

/* A guest that takes orders finds them under the same number everywhere, since its command line names that. */
static void keep_line(int line)
{
	if (line < 0)
		return;
	check(dup2(line, LINE) < 0, "keep the descriptor of orders");
	close(line);
}

static void start(char **arguments, int file, int *listener)
{
	int traces = !strcmp(arguments[WAY], "ptrace");

	limit(RLIMIT_NOFILE, DESCRIPTORS + 1);
	check(dup3(file, KERNEL, O_CLOEXEC) < 0, "keep a descriptor");
	keep_line(atoi(arguments[ORDERS]));
	limit(RLIMIT_NOFILE, DESCRIPTORS);
	enter_landlock(listener ? file : -1);
	if (listener)
		*listener = enter_filter(traces, 1);
	else
		enter_filter(traces, 0);
	syscall(SYS_execveat, KERNEL, "", arguments + GUEST, environ, AT_EMPTY_PATH);
	check(1, arguments[GUEST]);
}

static rlim_t memory_of(char **arguments)
{
	return number(arguments[MEMORY]) + random_distance();
}

static void set_given_limits(char **arguments)
{
	set_limits(memory_of(arguments), number(arguments[FILE_SIZE]), number(arguments[PROCESSES]),
		number(arguments[SECONDS]));
}

static void become_supervised(char **arguments, pid_t parent, int *listener)
{
	check(prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || getppid() != parent, "end with the supervisor");
	set_given_limits(arguments);
	start(arguments, place(arguments[GUEST]), listener);
}

/*
 * The child shares this process's descriptors until it has become the kernel, so the filter's is ours as well; until
 * then this process waits. Whoever has just become another user can be read only if it says so (PR_SET_DUMPABLE).
 */
static int supervised(char **arguments)
{
	int *listener = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t self = getpid(), child;

	check(listener == MAP_FAILED, "have memory");
	*listener = -1;
	check(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
		|| prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0), "be a supervisor");
	check((child = syscall(SYS_clone, CLONE_FILES | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, 0)) < 0, "fork");
	if (!child)
		become_supervised(arguments, self, listener);
	close(KERNEL);
	close(LINE); /* whose other end then hears when the kernel has ended */
	if (*listener < 0)
		return 1; /* the child has said why */
	return supervise(child, memory_of(arguments) + (64 << 20), *listener);
}

static void report_to(int descriptor)
{
	check(dprintf(descriptor, "{\"child-pid\": %d}\n", getpid()) < 0, "report");
	close(descriptor);
}

/* Takes the options and returns what follows them. */
static char **optioned(char **arguments, int *report, int *places)
{
	if (*arguments && **arguments == '-')
		clearenv();
	for (; arguments[0] && arguments[1] && *arguments[0] == '-'; arguments += 2) {
		if (!strcmp(arguments[0], "--report"))
			*report = number(arguments[1]);
		else if (!strcmp(arguments[0], "--set"))
			putenv(arguments[1]);
		else {
			add_place(arguments[1], !strcmp(arguments[0], "--own"));
			++*places;
		}
	}
	return arguments;
}

int main(int count, char **arguments)
{
	int report = -1, places = 0;

	if (count == 2 && !strcmp(arguments[1], "--probe"))
		return access("/lab/out", R_OK);
	arguments = optioned(arguments + 1, &report, &places);
	for (count = 0; arguments[count]; count++)
		;
	errno = EINVAL;
	check(count <= GUEST, "arguments");
	if (places)
		check(syscall(SYS_close_range, 3, ~0U, CLOSE_RANGE_CLOEXEC), "close descriptors");
	if (report >= 0)
		report_to(report);
	/* Docker refuses that call, to the guest as well. */
	check(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS && errno != EPERM,
		"leave the session's keys");
	become(number(arguments[UID]), number(arguments[GID]));
	umask(022); /* what the guest makes is for its user to change, whatever mode its programs ask for */
	if (places)
		return supervised(arguments);
	set_given_limits(arguments);
	start(arguments, opened(arguments[GUEST], O_RDONLY), NULL);
	return 1;
}
