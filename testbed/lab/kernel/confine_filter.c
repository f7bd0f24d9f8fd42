/*
 * The filter of system calls behind which the lab kernel and its processes live (seccomp(2)).
 */
#define _GNU_SOURCE
#include "confine.h"
#include "filter.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* Linux 5.19 */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/*
 * The system calls of the kernel's process and of its stubs with the values of their arguments, as strace(1) and
 * ftrace counted them in runs of every kind, those of the same functions of arch/um/os-Linux and fs/hostfs that were
 * not reached, and those with which C libraries start. Any other ends the guest by SIGSYS. What the guest's own
 * programs call is trapped in the stub's own filter in just the same way, and there the lab kernel has a handler.
 *
 * A call that is `answered` names a file or a process, or a descriptor whose file may be ours: where there is a
 * supervisor, it acts in the call's place (supervisor.c).
 */
#define HERE(argument) IS(argument, (unsigned int)AT_FDCWD)
#define A_PROCESS(argument) FROM(argument, 2, 0x7fffffff) /* one, and never the sandbox's first */

enum {
	LINUX_LARGEFILE = 0100000, /* glibc's O_LARGEFILE is 0 */
	OPEN_FLAGS = O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW
		| O_TMPFILE | LINUX_LARGEFILE,
	STATUS_FLAGS = O_ACCMODE | O_APPEND | O_NONBLOCK | O_ASYNC | O_NOFOLLOW | LINUX_LARGEFILE,
	SOCKET_FLAGS = SOCK_CLOEXEC | SOCK_NONBLOCK,
	WAIT_FLAGS = 3 | (int)0xc0000000, /* WNOHANG, WUNTRACED, __WALL, __WCLONE */
	MAP_KIND = 3, MAP_FLAGS = MAP_FIXED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK,
	PROTECTION = PROT_READ | PROT_WRITE | PROT_EXEC,
};
static const struct call calls[] = {
	/* turns of the kernel and its processes */
	CALL(futex, BITS(1, ~(unsigned int)FUTEX_PRIVATE_FLAG & ~1u, FUTEX_WAIT)) /* and FUTEX_WAKE */,
	CALL(sendmsg, IS(2, 0)), CALL(recvmsg, IS(2, 0)), ANY(rt_sigreturn), ANY(rt_sigprocmask), ANY(rt_sigaction),
	ANY(sigaltstack), ANY(munmap), CALL(mprotect, ONLY(2, PROTECTION)), ANY(brk), CALL(wait4, ONLY(2, WAIT_FLAGS)),
	ANY(exit), ANY(exit_group), CALL(execveat, IS(0, KERNEL), IS(4, AT_EMPTY_PATH)),
	CALL(socketpair, IS(0, AF_UNIX), BITS(1, ~(unsigned int)SOCKET_FLAGS, SOCK_STREAM), IS(2, 0)),
	ANY(dup2), CALL(dup3, ONLY(2, O_CLOEXEC)), CALL(prctl, IS(0, PR_SET_NAME)),
	CALL(prctl, IS(0, PR_SET_TSC), IS(1, PR_TSC_SIGSEGV)) /* programs read virtual time: forbid_tsc */,
	CALL(prctl, IS(0, PR_SET_PDEATHSIG), IS(1, SIGKILL)), CALL(prctl, IS(0, PR_SET_NO_NEW_PRIVS), IS(1, 1)),
	CALL(prctl, IS(0, PR_SET_SECCOMP), IS(1, SECCOMP_MODE_FILTER)),
	CALL(seccomp, IS(0, SECCOMP_SET_MODE_FILTER), ONLY(1, SECCOMP_FILTER_FLAG_TSYNC)),
	CALL(arch_prctl, FROM(0, 0x1001, 0x1004)) /* FS and GS */, CALL(arch_prctl, IS(0, 0x3001)) /* CET's state */,
	CALL(arch_prctl, IS(0, 0x5005)) /* the shadow stack's state */, ANY(getpid), ANY(gettid), ANY(setsid),
	ASKED(kill, A_PROCESS(0)), ASKED(tgkill, A_PROCESS(0), A_PROCESS(1)),
	/* the run's folder (hostfs), console, memory; a new file's mode is bounded by the umask, too */
	ANY(pread64), ANY(pwrite64), ANY(read), ANY(write), ANY(close), ANY(lseek), ANY(fstat), ANY(getdents64),
	ANY(ftruncate), ASKED(openat, HERE(0), ONLY(2, OPEN_FLAGS), ONLY(3, 0777)), ASKED(access, ONLY(1, 7)),
	ASKED(statx), ASKED(newfstatat), ASKED(statfs), ASKED(readlink),
	ASKED(utimensat, ONLY(3, AT_SYMLINK_NOFOLLOW)), ASKED(mkdir, ONLY(1, 01777)), ASKED(rmdir), ASKED(unlink),
	ASKED(rename), ASKED(renameat2, HERE(0), HERE(2), ONLY(4, RENAME_NOREPLACE | RENAME_EXCHANGE)),
	ASKED(chmod, BITS(1, 07022, 0)), ASKED(fchmod, BITS(1, 07022, 0)),
	CALL(fcntl, IS(1, F_GETFD)), CALL(fcntl, IS(1, F_SETFD), ONLY(2, FD_CLOEXEC)), CALL(fcntl, IS(1, F_GETFL)),
	CALL(fcntl, IS(1, F_SETFL), ONLY(2, STATUS_FLAGS)), ASKED(fcntl, IS(1, F_SETOWN), A_PROCESS(2)),
	CALL(fcntl, IS(1, F_SETSIG), IS(2, SIGIO)), CALL(fcntl, IS(1, F_ADD_SEALS), ONLY(2, 0x1f)),
	/* clocks and interrupts */
	ANY(clock_gettime), ANY(clock_nanosleep), CALL(timer_create, ONLY(0, CLOCK_MONOTONIC)), ANY(timer_settime),
	ANY(timer_gettime), ANY(timer_delete), ANY(epoll_create), CALL(epoll_create1, ONLY(0, EPOLL_CLOEXEC)),
	CALL(epoll_ctl, FROM(1, EPOLL_CTL_ADD, EPOLL_CTL_MOD)), ANY(epoll_wait), ANY(poll),
	CALL(signalfd4, ONLY(3, SFD_CLOEXEC | SFD_NONBLOCK)), ANY(time), ANY(gettimeofday), ANY(nanosleep),
	ANY(sched_yield),
	/* the start */
	CALL(madvise, FROM(2, MADV_FREE, MADV_DONTFORK)) /* 8 to 10: with MADV_REMOVE */,
	CALL(madvise, IS(2, MADV_DONTNEED)), CALL(madvise, IS(2, MADV_DONTDUMP)), ANY(sysinfo),
	ASKED(readlinkat, HERE(0)), ASKED(faccessat2, HERE(0)), ANY(sched_getaffinity), ANY(uname),
	CALL(prlimit64, IS(0, 0)), ANY(set_tid_address), ANY(set_robust_list), ANY(rseq),
	CALL(getrandom, ONLY(2, 3)), CALL(personality, IS(0, PER_LINUX | ADDR_NO_RANDOMIZE)),
	CALL(ioctl, IS(1, TCGETS)), CALL(ioctl, IS(1, 0x802c542a)) /* TCGETS2, of glibc 2.42 */,
};

/*
 * The kernel starts a stub for each process. It forbids memory that no limit counts itself, once it has made the
 * stub's file (patches/confinement.patch, forbid_uncounted_memory). No device that is memory can be opened.
 */
static const struct call of_seccomp[] = {
	CALL(mmap, ONLY(2, PROTECTION), BITS(3, ~(unsigned int)MAP_FLAGS, MAP_SHARED)),
	CALL(mmap, ONLY(2, PROTECTION), BITS(3, ~(unsigned int)MAP_FLAGS, MAP_PRIVATE)),
	ASKED(memfd_create, BITS(1, ~(unsigned int)MFD_EXEC, MFD_CLOEXEC | MFD_ALLOW_SEALING)),
	CALL(close_range, ONLY(2, CLOSE_RANGE_CLOEXEC)), CALL(execveat, IS(0, STUB), IS(4, AT_EMPTY_PATH)),
	CALL(clone, IS(0, CLONE_VM | CLONE_VFORK | SIGCHLD)), CALL(clone, IS(0, CLONE_VM | CLONE_VFORK)),
};

/*
 * The kernel forks for each process and traces it, but never the sandbox's first process. It needs no memory that no
 * limit counts: memory shared between processes is always a file's. Its processes share its descriptors, so no
 * answer to a call may depend on a descriptor's number for longer than one look.
 */
static const struct call of_ptrace[] = {
	CALL(mmap, ONLY(2, PROTECTION), BITS(3, ~(unsigned int)(MAP_FLAGS & ~MAP_ANONYMOUS), MAP_SHARED)),
	CALL(mmap, ONLY(2, PROTECTION), BITS(3, ~(unsigned int)MAP_FLAGS, MAP_PRIVATE)),
	CALL(clone, IS(0, CLONE_FILES | SIGCHLD)), CALL(clone, IS(0, CLONE_PARENT | CLONE_FILES | SIGCHLD)),
	CALL(clone, IS(0, CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD)), CALL(ptrace, IS(0, PTRACE_TRACEME)),
	CALL(ptrace, FROM(0, PTRACE_PEEKTEXT, PTRACE_POKEUSER), A_PROCESS(1)),
	CALL(ptrace, IS(0, PTRACE_SINGLESTEP), A_PROCESS(1)),
	CALL(ptrace, FROM(0, PTRACE_GETREGS, PTRACE_SETFPREGS), A_PROCESS(1)),
	CALL(ptrace, IS(0, 21), A_PROCESS(1), IS(3, 1)) /* PTRACE_OLDSETOPTIONS, PTRACE_O_TRACESYSGOOD */,
	CALL(ptrace, IS(0, PTRACE_SYSCALL), A_PROCESS(1)),
	CALL(ptrace, FROM(0, 30, 32), A_PROCESS(1)) /* PTRACE_ARCH_PRCTL, PTRACE_SYSEMU, PTRACE_SYSEMU_SINGLESTEP */,
	CALL(ptrace, FROM(0, 52, 55), A_PROCESS(1)) /* the first user mode looks for a patched host by these */,
	CALL(ptrace, IS(0, PTRACE_SETOPTIONS), A_PROCESS(1), IS(3, 1)),
	CALL(ptrace, IS(0, PTRACE_GETSIGINFO), A_PROCESS(1)),
	CALL(ptrace, FROM(0, PTRACE_GETREGSET, PTRACE_SETREGSET), A_PROCESS(1)),
	CALL(ptrace, FROM(0, PTRACE_CONT, PTRACE_KILL), A_PROCESS(1)), ANY(getppid), CALL(ioctl, IS(1, TIOCGWINSZ)),
};

/*
 * What succeeds without being done. A run's files must be seen on this computer, not survive its loss of power, and a
 * guest that reports its progress would wait for a disk each second.
 */
static const struct call skipped[] = { ANY(fsync), ANY(fdatasync) };
/* Old kernels open the file of their memory to everybody, and end if they cannot: it stays their user's. */
static const struct call skipped_of_ptrace[] = { CALL(fchmod, IS(1, 0777)) };

/*
 * What may fail: PTRACE_CONT and PTRACE_KILL of stubs that have ended, the group's end when the kernel crashes, a file
 * that a program of the guest opens to everybody, and what C libraries do in another way then.
 */
static const struct call refused[] = {
	CALL(ptrace, FROM(0, PTRACE_CONT, PTRACE_KILL)), CALL(kill, IS(0, 0)), CALL(chmod, BITS(1, 07000, 0)),
	CALL(fchmod, BITS(1, 07000, 0)), ANY(clone3),
};

static void allow_all(const struct call *list, size_t length, int mediated)
{
	for (size_t i = 0; i < length; i++)
		answer(&list[i], mediated && list[i].answered ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
}

static void fill(int traces, int mediated)
{
	begin(SECCOMP_RET_TRAP);
	allow_all(calls, LENGTH(calls), mediated);
	answer_all(skipped, LENGTH(skipped), SECCOMP_RET_ERRNO | 0);
	if (traces) {
		allow_all(of_ptrace, LENGTH(of_ptrace), mediated);
		answer_all(skipped_of_ptrace, LENGTH(skipped_of_ptrace), SECCOMP_RET_ERRNO | 0);
	} else {
		allow_all(of_seccomp, LENGTH(of_seccomp), mediated);
	}
	for (size_t i = 0; i < LENGTH(refused); i++)
		answer(&refused[i], SECCOMP_RET_ERRNO | (refused[i].number == SYS_clone3 ? ENOSYS : EPERM));
	otherwise(SECCOMP_RET_TRAP);
}

int enter_filter(int traces, int mediated)
{
	int flags = mediated ? SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0;
	int listener;

	fill(traces, mediated);
	listener = enter(flags);
	check(listener < 0, mediated ? "enter the seccomp filter with notifications" : "enter the seccomp filter");
	return listener;
}
