/*
 * The filter of system calls behind which the lab kernel and its processes live (seccomp(2)).
 */
#define _GNU_SOURCE
#include "confine.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* Linux 5.19 */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

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
	{ SYS_kill, 0, ~0u, 2, 0x7fffffff },
	/* the run's folder (hostfs), console, memory */
	ANY(pread64), ANY(pwrite64), ANY(read), ANY(write), ANY(openat), ANY(close), ANY(lseek), ANY(access),
	ANY(statx), ANY(newfstatat), ANY(fstat), ANY(statfs), ANY(getdents64), ANY(readlink), ANY(ftruncate),
	ANY(utimensat), ANY(mkdir), ANY(rmdir), ANY(unlink), ANY(rename), ANY(renameat2), ANY(chmod), ANY(fchmod),
	WITH(fcntl, 1, F_GETFD), WITH(fcntl, 1, F_SETFD), WITH(fcntl, 1, F_GETFL), WITH(fcntl, 1, F_SETFL),
	WITH(fcntl, 1, F_SETOWN), WITH(fcntl, 1, F_SETSIG), WITH(fcntl, 1, F_ADD_SEALS),
	/* clocks and interrupts */
	ANY(clock_gettime), ANY(clock_nanosleep), ANY(timer_create), ANY(timer_settime), ANY(timer_gettime),
	ANY(timer_delete), ANY(epoll_create), ANY(epoll_create1), ANY(epoll_ctl), ANY(epoll_wait), ANY(poll),
	ANY(signalfd4),
	ANY(tgkill), ANY(time), ANY(gettimeofday), ANY(nanosleep), ANY(sched_yield),
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

/* What succeeds without being done. A run's files must be seen on this computer, not survive its loss of power, and a
 * guest that reports its progress would wait for a disk each second.
 */
static const struct call skipped[] = { ANY(fsync), ANY(fdatasync) };

/* What may fail: PTRACE_CONT and PTRACE_KILL of stubs that have ended, the group's end when the kernel crashes, and
 * what C libraries do in another way then.
 */
static const struct call refused[] = { { SYS_ptrace, 0, ~0u, 7, 8 }, WITH(kill, 0, 0), ANY(clone3) };

/* What no guest may ask for, whatever else is allowed: messages to others' sockets, others' processes, set-uid files. */
static const struct call forbidden[] = {
	{ SYS_kill, 0, ~0u, 1, 1 }, { SYS_kill, 0, ~0u, 0x80000000, ~0u }, { SYS_tgkill, 0, ~0u, 0, 1 },
	{ SYS_tgkill, 0, ~0u, 0x80000000, ~0u }, { SYS_chmod, 1, 07000, 1, 07000 }, { SYS_fchmod, 1, 07000, 1, 07000 },
	MASKED(socketpair, 1, 0xf, SOCK_DGRAM), MASKED(socketpair, 1, 0xf, SOCK_SEQPACKET),
	WITH(ptrace, 0, PTRACE_ATTACH), WITH(ptrace, 0, PTRACE_SEIZE),
};

/* What names a file or a process, and a descriptor whose file may be ours: supervisor.c answers in its place. */
static const struct call answered[] = {
	ANY(openat), ANY(access), ANY(faccessat2), ANY(statx), ANY(newfstatat), ANY(statfs), ANY(readlink), ANY(readlinkat),
	ANY(utimensat), ANY(mkdir), ANY(rmdir), ANY(unlink), ANY(rename), ANY(renameat2), ANY(chmod), ANY(fchmod),
	ANY(kill), ANY(tgkill), WITH(fcntl, 1, F_SETOWN), MASKED(memfd_create, 1, MFD_EXEC, MFD_EXEC),
};

static struct sock_filter filter[8 + 7 * (LENGTH(forbidden) + LENGTH(answered) + LENGTH(calls) + LENGTH(of_seccomp)
	+ LENGTH(of_ptrace) + LENGTH(skipped) + LENGTH(refused))];
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

static void answer_all(const struct call *list, size_t length, unsigned int action)
{
	for (size_t i = 0; i < length; i++)
		answer(&list[i], action);
}

static void fill(int traces, int mediated)
{
	load(offsetof(struct seccomp_data, arch));
	say(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	say(BPF_RET | BPF_K, SECCOMP_RET_TRAP, 0, 0);
	load(offsetof(struct seccomp_data, nr));
	answer_all(forbidden, LENGTH(forbidden), SECCOMP_RET_TRAP);
	if (mediated)
		answer_all(answered, LENGTH(answered), SECCOMP_RET_USER_NOTIF);
	answer_all(calls, LENGTH(calls), SECCOMP_RET_ALLOW);
	answer_all(skipped, LENGTH(skipped), SECCOMP_RET_ERRNO | 0);
	if (traces)
		answer_all(of_ptrace, LENGTH(of_ptrace), SECCOMP_RET_ALLOW);
	else
		answer_all(of_seccomp, LENGTH(of_seccomp), SECCOMP_RET_ALLOW);
	for (size_t i = 0; i < LENGTH(refused); i++)
		answer(&refused[i], SECCOMP_RET_ERRNO | (refused[i].number == SYS_clone3 ? ENOSYS : EPERM));
	say(BPF_RET | BPF_K, SECCOMP_RET_TRAP, 0, 0);
}

int enter_filter(int traces, int mediated)
{
	struct sock_fprog program = { 0, filter };
	int flags = mediated ? SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0;
	int listener;

	fill(traces, mediated);
	program.len = filled;
	listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	check(listener < 0, mediated ? "enter the seccomp filter with notifications" : "enter the seccomp filter");
	return listener;
}
