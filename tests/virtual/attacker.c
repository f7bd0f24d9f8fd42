/*
 * Makes the system calls of a list, in the place of the lab kernel (generated_attacks.py).
 *
 *	attacker seccomp|ptrace FIRST [HOLD]
 *
 * The list is /lab/code.pyc: a header, what is mapped at AREA, and the calls. Each call from
 * number FIRST on is made in a process of its own, or in this one if its process must be the
 * kernel's. One byte for each goes to standard output: DONE, an errno, or what comes after the
 * errnos, such as OPENED for a file that others may write to. With HOLD each call is made that
 * many times in this process, which then waits, so that its things can be looked at from outside.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { DONE = 0, OPENED = 251, SIGNALLED = 252, BLOCKED = 253, TRAPPED = 254, LOST = 255 };
enum { ITSELF = 0x5e1f5e1f, AREA_SIZE = 1 << 16, STACK = 1 << 16 };
enum { FIRST_PATIENCE = 20, LAST_PATIENCE = 5000 }; /* milliseconds */
static const char *const own[] = { "/lab/out/made", "/lab/out/file" };
static char *const area = (char *)0x200000000;

struct header { uint32_t calls, image; };
struct call { uint32_t number, in_kernel; uint64_t arguments[6]; };

static char *image;
static size_t image_size;
static volatile int trapped;
static int milliseconds;

static void require(int good)
{
	if (!good)
		_exit(LOST);
}

static void at_trap(int number, siginfo_t *information, void *context)
{
	ucontext_t *registers = context;

	(void)number, (void)information;
	registers->uc_mcontext.gregs[REG_RAX] = -ENOSYS;
	trapped = 1;
}

static long make(const struct call *call)
{
	uint64_t given[6];

	memcpy(area, image, image_size);
	for (int i = 0; i < 6; i++)
		given[i] = call->arguments[i] == ITSELF ? (uint64_t)getpid() : call->arguments[i];
	trapped = 0;
	return syscall(call->number, given[0], given[1], given[2], given[3], given[4], given[5]);
}

/* Gives back what the call took, so that the next one finds as much as this one. */
static unsigned char outcome_of(const struct call *call, long result)
{
	if (trapped)
		return TRAPPED;
	if (call->number == SYS_mmap && result >= 0)
		munmap((void *)result, call->arguments[1]);
	if (call->number == SYS_openat && result > 20)
		close(result);
	return result >= 0 ? DONE : errno && errno < OPENED ? errno : LOST;
}

static void limit_time(void)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec when = { .it_value = { milliseconds / 1000, milliseconds % 1000 * 1000000L } };
	int timer = 0;

	require(!syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer));
	require(!syscall(SYS_timer_settime, timer, 0, &when, NULL));
}

static int in_child(void *call)
{
	limit_time();
	_exit(outcome_of(call, make(call)));
}

static unsigned char ended_how(const struct call *call, int status)
{
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

	if (signal)
		return signal == SIGKILL ? BLOCKED : signal == SIGSYS ? TRAPPED : SIGNALLED;
	if (call->number == SYS_exit || call->number == SYS_exit_group)
		return DONE;
	return WEXITSTATUS(status);
}

/* A busy machine may not come to the call in time, so a call that seems to wait gets more. */
static unsigned char tried_in_child(struct call *call, int flags, char *stack)
{
	unsigned char outcome = BLOCKED;
	int status;

	milliseconds = FIRST_PATIENCE;
	for (; outcome == BLOCKED && milliseconds < LAST_PATIENCE; milliseconds *= 16) {
		pid_t child = clone(in_child, stack + STACK, flags, call, NULL, NULL, stack);

		require(child > 0);
		while (waitpid(child, &status, __WALL) != child)
			;
		outcome = ended_how(call, status);
	}
	return outcome;
}

/* A later call may remove what this one has left, so the kernel's process looks at once. */
static int is_open_to_others(const char *path)
{
	struct stat status;

	return !lstat(path, &status)
		&& (status.st_mode & 06022 || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)));
}

static unsigned char tried_here(const struct call *call)
{
	unsigned char outcome = outcome_of(call, make(call));

	if (outcome != DONE)
		return outcome;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (is_open_to_others(own[i])) {
			outcome = OPENED;
			unlink(own[i]);
		}
	unlink(own[0]);
	rmdir(own[0]);
	close(open(own[1], O_RDWR | O_CREAT, 0644));
	return outcome;
}

static void keep(int file, int number)
{
	require(file >= 0 && dup2(file, number) == number && !close(file));
}

/* The descriptors that the list names; memory is what the lab kernel has for its own. */
static void open_all(void)
{
	int pair[2];

	keep(open("/lab/out/file", O_RDWR | O_CREAT, 0644), 110);
	keep(open("/lab/init", O_RDONLY), 111);
	keep(open("/lab/out", O_RDONLY | O_DIRECTORY), 112);
	require(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	keep(pair[0], 113);
	keep(pair[1], 114);
	keep(epoll_create1(0), 115);
	keep(open("/dev/null", O_RDWR), 116);
	keep(open("/dev/shm", O_RDWR | O_EXCL | O_TMPFILE | O_CLOEXEC, 0700), 117);
	for (int i = 0; i < 8; i++)
		require(dup2(110 + i, 10 + i) >= 0 && !close(110 + i));
}

/* What the lab kernel does at its start: patches/confinement.patch. */
static void become_like_the_kernel(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, MAP_SHARED | MAP_ANONYMOUS),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MAP_SHARED | MAP_ANONYMOUS, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };
	struct rlimit limit;
	int stub = syscall(SYS_memfd_create, "uml-userspace", 0x13);

	require(stub >= 0 && !getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_max = --limit.rlim_cur;
	require(dup3(stub, limit.rlim_cur, O_CLOEXEC) >= 0 && !close(stub));
	require(!setrlimit(RLIMIT_NOFILE, &limit) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	require(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void *memory(void *at, size_t size)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0);
	void *found = mmap(at, size, PROT_READ | PROT_WRITE, flags, -1, 0);

	require(found != MAP_FAILED);
	return found;
}

static struct call *read_list(size_t *count)
{
	int file = open("/lab/code.pyc", O_RDONLY | O_CLOEXEC);
	off_t size = file < 0 ? 0 : lseek(file, 0, SEEK_END);
	struct header *header;

	require(size > (off_t)sizeof(*header) && !lseek(file, 0, SEEK_SET));
	header = memory(NULL, size);
	for (off_t had = 0, got; had < size; had += got)
		require((got = read(file, (char *)header + had, size - had)) > 0);
	close(file);
	image = (char *)(header + 1);
	image_size = header->image;
	*count = header->calls;
	return (struct call *)(image + image_size);
}

static void hold(struct call *calls, size_t count, int times)
{
	for (size_t i = 0; i < count; i++)
		for (int n = 0; n < times; n++)
			make(&calls[i]);
	require(write(1, "h", 1) == 1);
	for (;;)
		sleep(1000);
}

int main(int count, char **words)
{
	struct sigaction action = { .sa_sigaction = at_trap, .sa_flags = SA_SIGINFO | SA_NODEFER };
	size_t length;
	struct call *calls = read_list(&length);
	char *stack = memory(NULL, STACK);
	int seccomp, flags;

	require(count >= 3 && !sigaction(SIGSYS, &action, NULL));
	seccomp = !strcmp(words[1], "seccomp");
	flags = seccomp ? CLONE_VM | CLONE_VFORK : CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID;
	open_all();
	if (seccomp)
		become_like_the_kernel();
	memory(area, AREA_SIZE);
	if (count > 3)
		hold(calls, length, atoi(words[3]));
	for (size_t i = atoi(words[2]); i < length; i++) {
		unsigned char outcome;

		if (calls[i].in_kernel)
			outcome = tried_here(&calls[i]);
		else
			outcome = tried_in_child(&calls[i], flags | SIGCHLD, stack);
		memory(area, AREA_SIZE);
		require(write(1, &outcome, 1) == 1);
	}
	return 0;
}
