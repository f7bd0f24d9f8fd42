/*
 * The last program before the lab kernel: it gives up whatever the kernel does not need of this computer, so that
 * a student's module, which is code of the kernel's process, cannot have it either.
 *
 *	confine UID GID MEMORY FILE PROCESSES SECONDS seccomp|ptrace KERNEL ARGUMENT...
 *
 * becomes that user (0 0: stays who it is), with these limits of bytes of memory and of a file, of processes and of
 * CPU seconds, with a new session keyring, behind Landlock where the host has it and a seccomp filter, and then the
 * kernel. That rules its processes by seccomp, or before Linux 6.16 by ptrace, for which it needs other system calls.
 * docs/design.md tells what remains possible. Linked statically: it runs where there is no C library.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Descriptors. The kernel's file has the first number that is beyond the limit, so that nothing can ever have it
 * again; the lab kernel does the same with the program of its processes, one below (patches/confinement.patch,
 * pin_stub).
 */
enum { DESCRIPTORS = 8192, KERNEL = DESCRIPTORS, STUB = DESCRIPTORS - 1 };

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "lab confine: %s: %s\n", what, strerror(errno));
	exit(1);
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

static int opened(const char *path, int flags)
{
	int file = open(path, flags | O_CLOEXEC);

	check(file < 0, path);
	return file;
}

/* landlock(7), by its numbers: the header of the machine that compiles may be older than the kernel that runs. */
enum {
	EXECUTE = 1 << 0, WRITE_FILE = 1 << 1, READ_FILE = 1 << 2, READ_DIR = 1 << 3, REMOVE_DIR = 1 << 4,
	REMOVE_FILE = 1 << 5, MAKE_DIR = 1 << 7, MAKE_REG = 1 << 8, TRUNCATE = 1 << 14, IOCTL_DEV = 1 << 15
};
static const struct { const char *path; uint64_t rights; } rules[] = {
	{ "/", READ_FILE | READ_DIR },
	{ "/lab/linux", READ_FILE | EXECUTE },
	{ "/lab/out", WRITE_FILE | TRUNCATE | MAKE_REG | MAKE_DIR | REMOVE_FILE | REMOVE_DIR },
	{ "/tmp", WRITE_FILE | MAKE_REG | MAKE_DIR | REMOVE_FILE | REMOVE_DIR },
	{ "/dev", WRITE_FILE | IOCTL_DEV },
};
static const uint64_t known_rights[] = { 0, 0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff }; /* by version */

static void allow_below(int ruleset, const char *path, uint64_t rights)
{
	struct { uint64_t rights; int32_t folder; } __attribute__((packed)) rule = { rights, opened(path, O_PATH) };

	check(syscall(SYS_landlock_add_rule, ruleset, 1, &rule, 0), path);
	close(rule.folder);
}

/* Files only where a run has them, no TCP, no signals and abstract sockets outside; nothing where it is unknown. */
static void enter_landlock(void)
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
	for (size_t i = 0; i < LENGTH(rules); i++)
		allow_below(ruleset, rules[i].path, rules[i].rights & all.files);
	check(syscall(SYS_landlock_restrict_self, ruleset, 0), "enter Landlock");
	close(ruleset);
}

/*
 * The system calls of the kernel's process and of its stubs, as strace(1) counted them in runs of every kind, those
 * of the same functions of arch/um/os-Linux and fs/hostfs that were not reached, and those with which C libraries
 * start. Any other ends the guest by SIGSYS. What the guest's own programs call is trapped in the stub's own filter
 * in just the same way, and there the lab kernel has a handler.
 *
 * `argument` of a call must be from `low` to `high` under `mask`; mask 0 asks nothing.
 */
struct call { unsigned short number, argument; unsigned int mask, low, high; };
#define ANY(name) { SYS_##name, 0, 0, 0, 0 }
#define WITH(name, argument, value) { SYS_##name, argument, ~0u, value, value }
#define MASKED(name, argument, mask, value) { SYS_##name, argument, mask, value, value }
static const struct call calls[] = {
	/* turns of the kernel and its processes */
	ANY(futex), ANY(sendmsg), ANY(recvmsg), ANY(rt_sigreturn), ANY(rt_sigprocmask), ANY(rt_sigaction),
	ANY(sigaltstack), ANY(munmap), ANY(mprotect), ANY(brk), ANY(wait4), ANY(exit), ANY(exit_group),
	WITH(execveat, 0, KERNEL), WITH(socketpair, 0, AF_UNIX), ANY(dup2), ANY(dup3),
	WITH(prctl, 0, PR_SET_NAME), WITH(prctl, 0, PR_SET_PDEATHSIG),
	WITH(prctl, 0, PR_SET_NO_NEW_PRIVS), WITH(prctl, 0, PR_SET_SECCOMP), ANY(seccomp), ANY(arch_prctl),
	ANY(getpid), ANY(gettid), ANY(setsid),
	{ SYS_kill, 0, ~0u, 2, 0x7fffffff }, /* neither the sandbox's first process nor a group */
	/* the run's folder (hostfs), console, memory */
	ANY(pread64), ANY(pwrite64), ANY(read), ANY(write), ANY(openat), ANY(close), ANY(lseek), ANY(access),
	ANY(statx), ANY(newfstatat), ANY(fstat), ANY(statfs), ANY(getdents64), ANY(readlink), ANY(fsync),
	ANY(fdatasync), ANY(ftruncate), ANY(utimensat), ANY(mkdir), ANY(rmdir), ANY(unlink), ANY(rename),
	ANY(renameat2), MASKED(chmod, 1, 07000, 0), MASKED(fchmod, 1, 07000, 0),
	WITH(fcntl, 1, F_GETFD), WITH(fcntl, 1, F_SETFD), WITH(fcntl, 1, F_GETFL), WITH(fcntl, 1, F_SETFL),
	WITH(fcntl, 1, F_SETOWN), WITH(fcntl, 1, F_SETSIG), WITH(fcntl, 1, F_ADD_SEALS),
	/* clocks and interrupts */
	ANY(clock_gettime), ANY(clock_nanosleep), ANY(timer_create), ANY(timer_settime), ANY(timer_gettime),
	ANY(timer_delete), ANY(epoll_create), ANY(epoll_create1), ANY(epoll_ctl), ANY(epoll_wait), ANY(poll),
	ANY(signalfd4),
	{ SYS_tgkill, 0, ~0u, 2, 0x7fffffff }, ANY(time), ANY(gettimeofday), ANY(nanosleep), ANY(sched_yield),
	/* the start */
	ANY(madvise), ANY(sysinfo), ANY(readlinkat), ANY(faccessat2), ANY(sched_getaffinity), ANY(uname),
	WITH(prlimit64, 0, 0), ANY(set_tid_address), ANY(set_robust_list), ANY(rseq),
	ANY(getrandom), WITH(personality, 0, PER_LINUX | ADDR_NO_RANDOMIZE),
	MASKED(ioctl, 1, ~3u, 0x5400) /* TCGETS, TCSETS and its like */,
	WITH(ioctl, 1, 0x802c542a) /* TCGETS2, of glibc 2.42 */, { SYS_ioctl, 1, ~0u, 0x402c542b, 0x402c542d },
	WITH(ioctl, 1, 0x80045430) /* TIOCGPTN */, WITH(ioctl, 1, 0x40045431) /* TIOCSPTLCK */,
	WITH(ioctl, 1, 0x5441) /* TIOCGPTPEER */,
};

/* The kernel starts a stub for each process. It forbids memory that no limit counts itself, once it has made the
 * stub's file (patches/confinement.patch, forbid_uncounted_memory).
 */
static const struct call of_seccomp[] = {
	ANY(mmap), ANY(memfd_create), ANY(close_range), WITH(execveat, 0, STUB),
	WITH(clone, 0, CLONE_VM | CLONE_VFORK | SIGCHLD), WITH(clone, 0, CLONE_VM | CLONE_VFORK),
};

/* The kernel forks for each process and traces it, but never the sandbox's first process. It needs no memory that no
 * limit counts: memory shared between processes is always a file's.
 */
static const struct call of_ptrace[] = {
	{ SYS_mmap, 3, MAP_SHARED | MAP_ANONYMOUS, 0, MAP_ANONYMOUS },
	WITH(clone, 0, CLONE_FILES | SIGCHLD), WITH(clone, 0, CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD),
	WITH(clone, 0, CLONE_PARENT | CLONE_FILES | SIGCHLD), WITH(ptrace, 0, PTRACE_TRACEME),
	{ SYS_ptrace, 1, ~0u, 2, 0x7fffffff }, ANY(getppid),
	WITH(ioctl, 1, 0x5413) /* TIOCGWINSZ */,
};

/* What may fail: PTRACE_CONT and PTRACE_KILL of stubs that have ended, the group's end when the kernel crashes, and
 * what C libraries do in another way then.
 */
static const struct call refused[] = { { SYS_ptrace, 0, ~0u, 7, 8 }, WITH(kill, 0, 0), ANY(clone3) };

static struct sock_filter filter[8 + 7 * (LENGTH(calls) + LENGTH(of_seccomp) + LENGTH(of_ptrace) + LENGTH(refused))];
static unsigned short filled;

static void say(unsigned short code, unsigned int value, unsigned char when_true, unsigned char when_false)
{
	filter[filled++] = (struct sock_filter){ code, when_true, when_false, value };
}

static void load(size_t offset)
{
	say(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void answer(const struct call *call, unsigned int action)
{
	if (!call->mask) {
		say(BPF_JMP | BPF_JEQ | BPF_K, call->number, 0, 1);
	} else {
		say(BPF_JMP | BPF_JEQ | BPF_K, call->number, 0, 6);
		load(offsetof(struct seccomp_data, args) + 8 * call->argument);
		say(BPF_ALU | BPF_AND | BPF_K, call->mask, 0, 0);
		say(BPF_JMP | BPF_JGE | BPF_K, call->low, 0, 2);
		say(BPF_JMP | BPF_JGT | BPF_K, call->high, 1, 0);
	}
	say(BPF_RET | BPF_K, action, 0, 0);
	if (call->mask)
		load(offsetof(struct seccomp_data, nr));
}

static void allow(const struct call *list, size_t length)
{
	for (size_t i = 0; i < length; i++)
		answer(&list[i], SECCOMP_RET_ALLOW);
}

static void enter_filter(int traces)
{
	struct sock_fprog program = { 0, filter };

	load(offsetof(struct seccomp_data, arch));
	say(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	say(BPF_RET | BPF_K, SECCOMP_RET_TRAP, 0, 0);
	load(offsetof(struct seccomp_data, nr));
	allow(calls, LENGTH(calls));
	if (traces)
		allow(of_ptrace, LENGTH(of_ptrace));
	else
		allow(of_seccomp, LENGTH(of_seccomp));
	for (size_t i = 0; i < LENGTH(refused); i++)
		answer(&refused[i], SECCOMP_RET_ERRNO | (refused[i].number == SYS_clone3 ? ENOSYS : EPERM));
	say(BPF_RET | BPF_K, SECCOMP_RET_TRAP, 0, 0);
	program.len = filled;
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), "enter the seccomp filter");
}

/* Without random addresses, or the kernel would start itself once more (arch/um/os-Linux/main.c). */
static void start(char **arguments, int traces)
{
	int file = opened(arguments[0], O_RDONLY);

	limit(RLIMIT_NOFILE, DESCRIPTORS + 1);
	check(dup3(file, KERNEL, O_CLOEXEC) < 0, "keep a descriptor");
	close(file);
	limit(RLIMIT_NOFILE, DESCRIPTORS);
	check(personality(PER_LINUX | ADDR_NO_RANDOMIZE) < 0, "fix addresses");
	enter_landlock();
	enter_filter(traces);
	syscall(SYS_execveat, KERNEL, "", arguments, environ, AT_EMPTY_PATH);
	check(1, arguments[0]);
}

int main(int count, char **arguments)
{
	check(count < 9, "arguments");
	check(syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS, "leave the session's keys");
	become(number(arguments[1]), number(arguments[2]));
	set_limits(number(arguments[3]), number(arguments[4]), number(arguments[5]), number(arguments[6]));
	start(arguments + 8, !strcmp(arguments[7], "ptrace"));
	return 1;
}
