/*
 * A stranger's program, such as one that a student hands in, reaches other hosts by packets only. The job starts it in a
 * host's network (testbed/guest/host_root.py):
 *
 *	init stranger ROOT USER PROTOCOL MEMORY FILE SECONDS PROGRAM ARGUMENT...
 *
 * It is the first process of a PID namespace, has IPC, UTS and mount namespaces, limits, and the system calls below with
 * these values. All others fail with EPERM. The kernel gives it counters that others do not share, and ends it after so
 * many seconds of the host's processor (patches/strangers.patch). docs/concepts/trust.md says what it can still observe.
 */
#define _GNU_SOURCE
#include "filter.h"
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROOT = 2, USER, PROTOCOL, MEMORY, FILE_SIZE, SECONDS, PROGRAM };
enum {
	THREADS = 64, DESCRIPTORS = 128, STACK = 2 << 20,
	SOCKET_FLAGS = SOCK_CLOEXEC | SOCK_NONBLOCK, DATA = PROT_READ | PROT_WRITE, MAP_KIND = 15,
	/* as pthread_create(3) asks for a thread */
	THREAD = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS
		| CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID,
	FUTEX_FLAGS = FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME,
};
#define OPTIONS(level, low, high) \
	CALL(setsockopt, IS(1, level), FROM(2, low, high)), CALL(getsockopt, IS(1, level), FROM(2, low, high))

static const struct call calls[] = {
	/* datagrams, time, and waiting for both */
	ANY(sendto), ANY(recvfrom), ANY(sendmsg), ANY(recvmsg), ANY(sendmmsg), ANY(recvmmsg), ANY(poll), ANY(ppoll),
	ANY(select), ANY(pselect6), ANY(epoll_wait), ANY(epoll_pwait), ANY(epoll_pwait2), ANY(epoll_create),
	ANY(epoll_create1), ANY(epoll_ctl), CALL(clock_gettime, FROM(0, CLOCK_REALTIME, CLOCK_BOOTTIME)),
	CALL(clock_getres, FROM(0, CLOCK_REALTIME, CLOCK_BOOTTIME)), ANY(gettimeofday), ANY(time), ANY(nanosleep),
	CALL(clock_nanosleep, FROM(0, CLOCK_REALTIME, CLOCK_BOOTTIME)), ANY(timerfd_create), ANY(timerfd_settime),
	ANY(timerfd_gettime), ANY(eventfd2), ANY(signalfd4), ANY(pipe), ANY(pipe2), ANY(setitimer), ANY(getitimer),
	ANY(alarm), ANY(pause), ANY(sched_yield), CALL(prctl, FROM(0, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK)),
	CALL(socket, IS(0, AF_INET), BITS(1, ~(unsigned int)SOCKET_FLAGS, SOCK_DGRAM), IS(2, 0)),
	CALL(socket, IS(0, AF_INET), BITS(1, ~(unsigned int)SOCKET_FLAGS, SOCK_DGRAM), IS(2, IPPROTO_UDP)),
	ANY(bind), ANY(connect), ANY(getsockname), ANY(getpeername), ANY(shutdown),
	CALL(socketpair, IS(0, AF_UNIX), BITS(1, ~(unsigned int)SOCKET_FLAGS, SOCK_STREAM), IS(2, 0)),
	OPTIONS(SOL_SOCKET, SO_DEBUG, SO_OOBINLINE), OPTIONS(SOL_SOCKET, SO_LINGER, SO_REUSEPORT),
	OPTIONS(SOL_SOCKET, SO_RCVLOWAT, 21 /* SO_SNDTIMEO */), OPTIONS(SOL_SOCKET, SO_TIMESTAMP, SO_ACCEPTCONN),
	OPTIONS(SOL_SOCKET, SO_TIMESTAMPNS, SO_RXQ_OVFL), OPTIONS(SOL_SOCKET, 62, 67) /* with wide times */,
	OPTIONS(IPPROTO_IP, 1 /* IP_TOS */, 2 /* IP_TTL */), OPTIONS(IPPROTO_IP, 8 /* IP_PKTINFO */, 14 /* IP_MTU */),
	OPTIONS(IPPROTO_UDP, 103 /* UDP_SEGMENT */, 104 /* UDP_GRO */),
	/* files of its root */
	ANY(read), ANY(write), ANY(readv), ANY(writev), ANY(pread64), ANY(pwrite64), ANY(open), ANY(openat), ANY(close),
	ANY(close_range), ANY(lseek), ANY(stat), ANY(lstat), ANY(fstat), ANY(newfstatat), ANY(access), ANY(faccessat),
	ANY(faccessat2), ANY(getdents64), ANY(readlink), ANY(readlinkat), ANY(getcwd), ANY(chdir), ANY(mkdir),
	ANY(unlink), ANY(unlinkat), ANY(rename), ANY(truncate), ANY(ftruncate), ANY(fsync), ANY(fdatasync), ANY(umask),
	ANY(dup), ANY(dup2), ANY(dup3), CALL(fcntl, FROM(1, F_DUPFD, F_SETFL)), CALL(fcntl, IS(1, F_DUPFD_CLOEXEC)),
	CALL(ioctl, IS(1, FIONREAD)), CALL(ioctl, IS(1, FIONBIO)), CALL(ioctl, FROM(1, FIONCLEX, FIOCLEX)),
	CALL(ioctl, IS(1, TCGETS)), CALL(ioctl, IS(1, TIOCGWINSZ)),
	/* memory: only files of the image are programs; threads, but no processes */
	CALL(mmap, ONLY(2, DATA), BITS(3, MAP_KIND, MAP_PRIVATE)),
	CALL(mmap, ONLY(2, DATA), BITS(3, MAP_ANONYMOUS | MAP_KIND, MAP_SHARED)),
	CALL(mmap, ONLY(2, PROT_READ | PROT_EXEC), BITS(3, MAP_ANONYMOUS | MAP_KIND, MAP_PRIVATE)),
	CALL(mprotect, ONLY(2, DATA)), ANY(munmap), ANY(mremap), ANY(brk), CALL(madvise, IS(2, MADV_DONTNEED)),
	CALL(madvise, IS(2, MADV_FREE)), CALL(madvise, FROM(2, MADV_HUGEPAGE, MADV_NOHUGEPAGE)), ANY(execve),
	CALL(clone, BITS(0, ~0u & ~(unsigned int)CLONE_DETACHED, THREAD)), ANY(set_tid_address), ANY(set_robust_list),
	ANY(rseq), ANY(arch_prctl), CALL(futex, BITS(1, ~(unsigned int)FUTEX_FLAGS & ~1u, FUTEX_WAIT)) /* and FUTEX_WAKE */,
	CALL(futex, BITS(1, ~(unsigned int)FUTEX_FLAGS, FUTEX_CMP_REQUEUE)),
	CALL(futex, BITS(1, ~(unsigned int)FUTEX_FLAGS, FUTEX_WAKE_OP)),
	CALL(futex, BITS(1, ~(unsigned int)FUTEX_FLAGS, FUTEX_WAIT_BITSET)), ANY(membarrier), ANY(sched_getaffinity),
	ANY(exit), ANY(exit_group), ANY(rt_sigreturn), ANY(rt_sigaction), ANY(rt_sigprocmask), ANY(rt_sigpending),
	ANY(rt_sigsuspend), ANY(rt_sigtimedwait), ANY(sigaltstack), ANY(restart_syscall), ANY(kill), ANY(tgkill),
	ANY(getrandom), ANY(uname), CALL(prctl, FROM(0, PR_SET_NAME, PR_GET_NAME)), CALL(prlimit64, IS(0, 0), IS(2, 0)),
	ANY(getrlimit), ANY(getpid), ANY(getppid), ANY(gettid), ANY(getuid), ANY(geteuid), ANY(getgid), ANY(getegid),
	ANY(getgroups), ANY(getpgrp),
};
static const struct call of_tcp[] = {
	CALL(socket, IS(0, AF_INET), BITS(1, ~(unsigned int)SOCKET_FLAGS, SOCK_STREAM), IS(2, 0)),
	CALL(socket, IS(0, AF_INET), BITS(1, ~(unsigned int)SOCKET_FLAGS, SOCK_STREAM), IS(2, IPPROTO_TCP)),
	ANY(listen), ANY(accept), ANY(accept4), OPTIONS(IPPROTO_TCP, 1, 40),
};
/* C libraries do it by an older call then. */
static const struct call unknown[] = { ANY(clone3), ANY(statx) };

static int enter_filter(int with_tcp)
{
	begin(SECCOMP_RET_ERRNO | EPERM);
	answer_all(calls, LENGTH(calls), SECCOMP_RET_ALLOW);
	if (with_tcp)
		answer_all(of_tcp, LENGTH(of_tcp), SECCOMP_RET_ALLOW);
	answer_all(unknown, LENGTH(unknown), SECCOMP_RET_ERRNO | ENOSYS);
	otherwise(SECCOMP_RET_ERRNO | EPERM);
	return enter(0);
}

static void limit(int resource, rlim_t most)
{
	struct rlimit both = { most, most };

	require(setrlimit(resource, &both), "set a limit");
}

static void set_limits(char **words)
{
	limit(RLIMIT_DATA, strtoull(words[MEMORY], NULL, 10)); /* memory that is no file's: the filter allows no other */
	limit(RLIMIT_FSIZE, strtoull(words[FILE_SIZE], NULL, 10));
	limit(RLIMIT_RTTIME, 1000000 * strtoull(words[SECONDS], NULL, 10)); /* read by patches/strangers.patch */
	limit(RLIMIT_NPROC, THREADS);
	limit(RLIMIT_NOFILE, DESCRIPTORS);
	limit(RLIMIT_STACK, STACK);
	limit(RLIMIT_SIGPENDING, THREADS);
	limit(RLIMIT_CORE, 0);
	limit(RLIMIT_MEMLOCK, 0);
	limit(RLIMIT_MSGQUEUE, 0);
}

/* Whoever becomes another user loses PR_SET_PDEATHSIG, so that is last. */
static void become(char **words)
{
	uid_t user = atoi(words[USER]);

	require(chroot(words[ROOT]) || chdir("/tmp"), words[ROOT]);
	require(close_range(0, 0, 0) || open("/dev/null", O_RDWR) || close_range(3, ~0U, 0), "/dev/null");
	set_limits(words);
	require(setgroups(0, NULL) || setresgid(user, user, user) || setresuid(user, user, user), "become a user");
	require(prctl(PR_SET_PDEATHSIG, SIGKILL) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "give up privileges");
	require(enter_filter(!strcmp(words[PROTOCOL], "tcp")), "enter the filter of system calls");
	execv(words[PROGRAM], words + PROGRAM);
	require(1, words[PROGRAM]);
}

/* The program's end becomes this process's. */
static void end_as(int status)
{
	if (!WIFSIGNALED(status))
		_exit(WEXITSTATUS(status));
	signal(WTERMSIG(status), SIG_DFL);
	kill(getpid(), WTERMSIG(status));
	_exit(128 + WTERMSIG(status));
}

void start_stranger(int count, char **words)
{
	int status;
	pid_t program;

	errno = EINVAL;
	require(count <= PROGRAM, "arguments");
	require(unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS), "make namespaces");
	require((program = fork()) < 0, "fork");
	if (!program)
		become(words);
	while (waitpid(program, &status, 0) < 0)
		require(errno != EINTR, "wait");
	end_as(status);
}
