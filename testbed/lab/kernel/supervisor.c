/*
 * The parent of a guest that has no namespaces: the kernel's calls that name a file or a process wait until this has
 * made them in its place (seccomp_unotify(2)), with the paths of places.c and with processes of the guest only. What
 * it reads of a call it reads once. No process of the guest outlives it.
 */
#define _GNU_SOURCE
#include "confine.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST = 4096, MEMORY_FILES = 3, GENERATIONS = 64 };
static pid_t kernel;
static int memory = -1; /* /proc/PID/mem of the kernel */
static rlim_t memory_size;
static int memory_files;

typedef struct seccomp_notif Call;

static int get(uint64_t from, void *to, size_t length)
{
	return pread(memory, to, length, from) == (ssize_t)length ? 0 : -EFAULT;
}

static int put(uint64_t to, const void *from, size_t length)
{
	return pwrite(memory, from, length, to) == (ssize_t)length ? 0 : -EFAULT;
}

/* The text at that address, which may lie just before memory that cannot be read. */
static int get_text(uint64_t from, char *text)
{
	ssize_t length = pread(memory, text, LONGEST, from);

	if (length <= 0)
		return -EFAULT;
	return memchr(text, 0, length) ? 0 : -ENAMETOOLONG;
}

static int get_spot(uint64_t from, struct spot *spot)
{
	char path[LONGEST];
	int error = get_text(from, path);

	return error ? error : find_spot(path, spot);
}

/*
 * The number is looked up once, since the guest may let it stand for another file a moment later. Whether that file may
 * be changed depends on where it is, which places.c finds out of the file itself.
 */
static int get_descriptor(int number, struct spot *spot)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", kernel, number);
	*spot = (struct spot){ .folder = open(path, O_PATH | O_CLOEXEC) };
	if (spot->folder < 0)
		return -EBADF;
	spot->writable = is_in_writable_place(spot->folder);
	return 0;
}

/* The spot of a call on a descriptor (no path or an empty one) or on a path. */
static int get_target(uint64_t descriptor, uint64_t from, struct spot *spot)
{
	char path[LONGEST] = "";
	int error = from ? get_text(from, path) : 0;

	if (error || *path)
		return error ? error : find_spot(path, spot);
	return get_descriptor(descriptor, spot);
}

static int outcome(int result)
{
	return result < 0 ? -errno : result;
}

/* The spot as a path for calls that know no AT_EMPTY_PATH. */
static const char *as_path(const struct spot *spot)
{
	static char path[LONGEST];

	snprintf(path, sizeof(path), "/proc/self/fd/%d%s%s", spot->folder, *spot->name ? "/" : "", spot->name);
	return path;
}

static int answer_statx(const Call *call, struct spot *spot)
{
	const __u64 *given = call->data.args;
	int flags = *spot->name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH;
	struct statx found;

	if (statx(spot->folder, spot->name, flags, given[3], &found))
		return -errno;
	return put(given[4], &found, sizeof(found));
}

static int answer_stat(const Call *call, struct spot *spot)
{
	struct stat found;

	if (fstatat(spot->folder, spot->name, &found, *spot->name ? AT_SYMLINK_NOFOLLOW : AT_EMPTY_PATH))
		return -errno;
	return put(call->data.args[2], &found, sizeof(found));
}

/* /dev/shm is what its files are: memory. */
static int answer_statfs(const Call *call, struct spot *spot)
{
	int file = spot->is_memory ? memfd_create("", MFD_CLOEXEC) : open(as_path(spot), O_PATH | O_CLOEXEC);
	struct statfs found;
	int result = file < 0 || fstatfs(file, &found) ? -errno : 0;

	if (file >= 0)
		close(file);
	return result ? result : put(call->data.args[1], &found, sizeof(found));
}

static int answer_access(struct spot *spot, int mode)
{
	if (mode & W_OK && !spot->writable && !spot->is_memory)
		return -EACCES;
	return outcome(faccessat(spot->folder, spot->name, mode, *spot->name ? 0 : AT_EMPTY_PATH));
}

/* The text of a link, which leads nowhere: what a guest that was started ahead is to do. */
static int answer_link(struct spot *spot, uint64_t to, uint64_t size)
{
	char text[4096];
	int length = -EINVAL;

	if (*spot->name)
		length = outcome(readlinkat(spot->folder, spot->name, text, size < sizeof(text) ? size : sizeof(text)));
	return length < 0 || !put(to, text, length) ? length : -EFAULT;
}

static int answer_mode(struct spot *spot, mode_t mode)
{
	if (!spot->writable)
		return -EACCES;
	return outcome(chmod(as_path(spot), mode & 0777));
}

static int answer_times(const Call *call, struct spot *spot)
{
	struct timespec times[2];
	uint64_t from = call->data.args[2];
	int error = from ? get(from, times, sizeof(times)) : 0;

	if (error || !spot->writable)
		return error ? error : -EACCES;
	return outcome(utimensat(AT_FDCWD, as_path(spot), from ? times : NULL, 0));
}

/* A change of a folder's content. */
static int answer_change(const Call *call, struct spot *spot)
{
	const __u64 *given = call->data.args;

	if (!*spot->name)
		return call->data.nr == SYS_mkdir ? -EEXIST : -EBUSY;
	if (!spot->writable)
		return -EACCES;
	if (call->data.nr == SYS_mkdir)
		return outcome(mkdirat(spot->folder, spot->name, given[1] & 0777));
	return outcome(unlinkat(spot->folder, spot->name, call->data.nr == SYS_rmdir ? AT_REMOVEDIR : 0));
}

static int answer_rename(const Call *call, struct spot *spot)
{
	const __u64 *given = call->data.args;
	int with_folders = call->data.nr == SYS_renameat2, flags = with_folders ? given[4] : 0;
	struct spot other;
	int result = get_spot(given[with_folders ? 3 : 1], &other);

	if (result)
		return result;
	if (!spot->writable || !other.writable)
		result = -EACCES;
	else if (!*spot->name || !*other.name)
		result = -EBUSY;
	else if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE))
		result = -EINVAL;
	else
		result = outcome(renameat2(spot->folder, spot->name, other.folder, other.name, flags));
	close(other.folder);
	return result;
}

/* The guest's memory: a file without a name, which needs no /dev/shm, and cannot grow beyond its size. */
static int memory_file(void)
{
	int file = memory_files++ < MEMORY_FILES ? memfd_create("lab", MFD_CLOEXEC | MFD_ALLOW_SEALING) : -1;

	if (file < 0)
		return -ENOSPC;
	if (ftruncate(file, memory_size) || fcntl(file, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SEAL)) {
		close(file);
		return -ENOSPC;
	}
	return file;
}

/* The new descriptor is the call's result, given with it at once. */
static int hand_over(const Call *call, int file, __u64 flags, int listener)
{
	struct seccomp_notif_addfd gift = { .id = call->id, .flags = SECCOMP_ADDFD_FLAG_SEND };
	int result;

	gift.srcfd = file;
	gift.newfd_flags = flags & O_CLOEXEC;
	result = outcome(ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &gift));
	close(file);
	return result;
}

static int answer_open(const Call *call, struct spot *spot, int listener)
{
	const __u64 *given = call->data.args;
	int nameless = (given[2] & O_TMPFILE) == O_TMPFILE;
	int file = spot->is_memory && nameless ? memory_file() : open_spot(spot, given[2], given[3]);

	return file < 0 ? file : hand_over(call, file, given[2], listener);
}

/* A program's file in memory. Before Linux 6.3 each can be executed, and asking for that is an error. */
static int answer_memfd(const Call *call, int listener)
{
	int file = memfd_create("stub", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);

	if (file < 0 && errno == EINVAL)
		file = memfd_create("stub", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return file < 0 ? -errno : hand_over(call, file, O_CLOEXEC, listener);
}

static pid_t parent_of(pid_t process)
{
	char path[64], text[512], *after;
	ssize_t length;
	int file;

	snprintf(path, sizeof(path), "/proc/%d/stat", process);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return 0;
	length = read(file, text, sizeof(text) - 1);
	close(file);
	text[length > 0 ? length : 0] = 0;
	after = strrchr(text, ')');
	return after ? atoi(after + 4) : 0; /* proc_pid_stat(5): ") S PPID" */
}

static int is_of_guest(pid_t process)
{
	for (int i = 0; process > 1 && i < GENERATIONS; i++)
		if ((process = parent_of(process)) == getpid())
			return 1;
	return 0;
}

/* Through a descriptor, since the number may be another process's a moment later. */
static int answer_kill(pid_t process, int number)
{
	int held = process > 0 ? syscall(SYS_pidfd_open, process, 0) : -1;
	int result = -EPERM;

	if (held >= 0 && is_of_guest(process))
		result = outcome(syscall(SYS_pidfd_send_signal, held, number, NULL, 0));
	if (held >= 0)
		close(held);
	return result;
}

static int answer_path(const Call *call, int listener)
{
	const __u64 *given = call->data.args;
	struct spot spot;
	int at = -1, error, result = -EPERM;

	switch (call->data.nr) {
	case SYS_statx: case SYS_newfstatat: case SYS_utimensat:
		error = get_target(given[0], given[1], &spot);
		break;
	case SYS_fchmod:
		error = get_descriptor(given[0], &spot);
		break;
	case SYS_openat: case SYS_faccessat2: case SYS_readlinkat: case SYS_renameat2:
		error = get_spot(given[at = 1], &spot);
		break;
	default:
		error = get_spot(given[at = 0], &spot);
	}
	if (error)
		return error;
	switch (call->data.nr) {
	case SYS_statx: result = answer_statx(call, &spot); break;
	case SYS_newfstatat: result = answer_stat(call, &spot); break;
	case SYS_utimensat: result = answer_times(call, &spot); break;
	case SYS_openat: result = answer_open(call, &spot, listener); break;
	case SYS_access: case SYS_faccessat2: result = answer_access(&spot, given[at + 1]); break;
	case SYS_readlink: case SYS_readlinkat: result = answer_link(&spot, given[at + 1], given[at + 2]); break;
	case SYS_statfs: result = answer_statfs(call, &spot); break;
	case SYS_rename: case SYS_renameat2: result = answer_rename(call, &spot); break;
	case SYS_chmod: case SYS_fchmod: result = answer_mode(&spot, given[1]); break;
	case SYS_mkdir: case SYS_rmdir: case SYS_unlink: result = answer_change(call, &spot); break;
	}
	close(spot.folder);
	return result;
}

/* The kernel's memory is opened at its first call, when it has taken the place of `confine`. */
static int memory_is_known(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", kernel);
	if (memory < 0)
		memory = open(path, O_RDWR | O_CLOEXEC);
	return memory >= 0;
}

static void answer(int listener)
{
	struct seccomp_notif_resp reply = { 0 };
	Call call = { 0 };
	int result = -EPERM;

	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call))
		return; /* who asked has ended */
	if (call.data.nr == SYS_kill)
		result = answer_kill(call.data.args[0], call.data.args[1]);
	else if (call.data.nr == SYS_tgkill)
		result = call.data.args[0] == call.data.args[1] ? answer_kill(call.data.args[0], call.data.args[2]) : -EPERM;
	else if (call.data.nr == SYS_fcntl) /* F_SETOWN: of its signals only the kernel's */
		reply.flags = (pid_t)call.data.args[2] == kernel ? SECCOMP_USER_NOTIF_FLAG_CONTINUE : 0;
	else if ((pid_t)call.pid == kernel && call.data.nr == SYS_memfd_create)
		result = answer_memfd(&call, listener);
	else if ((pid_t)call.pid == kernel && memory_is_known())
		result = answer_path(&call, listener);
	else
		check((pid_t)call.pid == kernel, "read the guest's memory, as ptrace(2) may");
	reply.id = call.id;
	reply.error = reply.flags || result >= 0 ? 0 : result;
	reply.val = reply.flags || result < 0 ? 0 : result;
	ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply); /* ENOENT: answered with a descriptor, or it has ended */
}

/* Whether a child was left to kill. Orphans of the guest become children of this process. */
static int kill_children(void)
{
	char path[64], text[1 << 14], *word, *rest = text;
	ssize_t length;
	int file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	check((file = open(path, O_RDONLY | O_CLOEXEC)) < 0, path);
	length = read(file, text, sizeof(text) - 1);
	close(file);
	text[length > 0 ? length : 0] = 0;
	while ((word = strsep(&rest, " ")) && rest)
		kill(atoi(word), SIGKILL);
	return length > 0;
}

static void end_all(void)
{
	while (kill_children()) {
		waitpid(-1, NULL, 0);
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
}

/* Whether the kernel has ended, with its status. */
static int reaped(int *status)
{
	int ended;
	pid_t child;

	while ((child = waitpid(-1, &ended, WNOHANG)) > 0)
		if (child == kernel) {
			*status = WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended);
			return 1;
		}
	return 0;
}

int supervise(pid_t child, rlim_t size, int listener)
{
	struct pollfd events[2] = { { .fd = listener, .events = POLLIN }, { .events = POLLIN } };
	struct signalfd_siginfo heard;
	int status = 128 + SIGTERM;
	sigset_t signals;

	kernel = child;
	memory_size = size;
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	check((events[1].fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK)) < 0, "hear of signals");
	while (!reaped(&status)) {
		poll(events, 2, -1);
		if (events[0].revents & POLLHUP)
			events[0].fd = -1; /* all have ended */
		if (events[0].revents & POLLIN)
			answer(listener);
		if (read(events[1].fd, &heard, sizeof(heard)) > 0 && heard.ssi_signo == SIGTERM)
			break;
	}
	end_all();
	return status;
}
