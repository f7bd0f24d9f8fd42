/*
 * The first process of the guest. The kernel's root is the sandbox's /lab (hostfs); this mounts the
 * read-only image from it, tmpfs wherever something is written, and starts the job's Python archive.
 * When the job ends, whatever way, the machine is switched off.
 *
 * Jobs start programs of the user's by it too, in a host and a root of its own (testbed/guest/host_root.py):
 *
 *	init NAMESPACE HOSTNAME ROOT FOLDER USER GROUP PROGRAM ARGUMENT...
 *
 * and programs of strangers: strangers.c.
 *
 * Linked statically: it runs where there is no C library.
 */
#define _GNU_SOURCE
#include "init.h"
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/loop.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void switch_off(void)
{
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

static void check(int result, const char *what)
{
	if (result >= 0)
		return;
	dprintf(open("/dev/kmsg", O_WRONLY), "lab init: %s: %s\n", what, strerror(errno));
	switch_off();
}

static void mount_on(const char *source, const char *target, const char *type, unsigned long flags, const char *data)
{
	check(mount(source, target, type, flags, data), target);
}

static void mount_image(void)
{
	int image, loop;

	mount_on("devtmpfs", "/dev", "devtmpfs", 0, NULL);
	check(image = open("/image.squashfs", O_RDONLY | O_CLOEXEC), "/image.squashfs");
	check(loop = open("/dev/loop0", O_RDONLY | O_CLOEXEC), "/dev/loop0");
	check(ioctl(loop, LOOP_SET_FD, image), "attach the image");
	mount_on("/dev/loop0", "/image", "squashfs", MS_RDONLY, NULL);
}

static void mount_writable(void)
{
	const char *folders[] = { "/image/run", "/image/tmp", "/image/var/log", "/image/var/tmp", "/image/root", NULL };

	for (int i = 0; folders[i]; i++)
		mount_on("tmpfs", folders[i], "tmpfs", 0, NULL);
	mount_on("/dev", "/image/dev", NULL, MS_MOVE, NULL);
	mkdir("/image/dev/pts", 0755);
	mkdir("/image/dev/shm", 01777);
	mount_on("devpts", "/image/dev/pts", "devpts", 0, "ptmxmode=0666");
	mount_on("tmpfs", "/image/dev/shm", "tmpfs", 0, NULL);
	mount_on("proc", "/image/proc", "proc", 0, NULL);
	mount_on("sysfs", "/image/sys", "sysfs", 0, NULL);
	/* With access times the kernel would compare those of this computer, and take a moment more for some. */
	mount_on("none", "/image/lab", "hostfs", MS_NOATIME | MS_NODIRATIME, "/");
}

/* Moved, not only chroot(2)ed: setns(2), which mnexec uses, leads to the root of the mount namespace. */
static void enter_image(void)
{
	check(chdir("/image"), "chdir");
	mount_on(".", "/", NULL, MS_MOVE, NULL);
	check(chroot("."), "chroot");
}

static void start_job(void)
{
	/* -S, -P: nothing is looked for before the program says where. */
	char *arguments[] = { "/usr/bin/python3", "-BSP", "/lab/code.pyc", "/lab/job.pyz", "/lab/out", "/tmp/work",
		"virtual", NULL };
	/* For each new feature of a processor the loader of programs has more folders to look for libraries in. What it
	 * keeps about them shifts addresses, and Open vSwitch sorts by those. Without these two it has none anywhere. */
	char *environment[] = { "GLIBC_TUNABLES=glibc.cpu.hwcaps=-POPCNT,-AVX512CD",
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8", "TERM=dumb",
		"PYTHONHASHSEED=0", "PYTHONUNBUFFERED=1", NULL };
	int input, log;

	check(chdir("/tmp"), "chdir");
	/* O_SYNC: what was printed before a crash is on the host. */
	check(log = open("/lab/out/job.log", O_WRONLY | O_CREAT | O_APPEND | O_SYNC, 0644), "/lab/out/job.log");
	check(input = open("/dev/null", O_RDONLY), "/dev/null");
	dup2(input, 0);
	dup2(log, 1);
	dup2(log, 2);
	execve(arguments[0], arguments, environment);
	check(-1, "start python3");
}

enum { NAMESPACE = 1, NAME, ROOT, FOLDER, USER, GROUP, PROGRAM };

void require(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(errno == ENOENT ? 127 : 126); /* as a shell says it */
}

static void enter_host(char **words)
{
	int namespace = open(words[NAMESPACE], O_RDONLY | O_CLOEXEC);

	require(namespace < 0 || setns(namespace, CLONE_NEWNET), words[NAMESPACE]);
	require(unshare(CLONE_NEWUTS) || sethostname(words[NAME], strlen(words[NAME])), words[NAME]);
	require(chroot(words[ROOT]) || chdir(words[FOLDER]), words[FOLDER]);
	require(setgroups(0, NULL) || setgid(atoi(words[GROUP])) || setuid(atoi(words[USER])), words[USER]);
	execvp(words[PROGRAM], words + PROGRAM);
	require(1, words[PROGRAM]);
}

int main(int count, char **words)
{
	pid_t job;

	if (getpid() != 1 && count > 1 && !strcmp(words[1], "stranger"))
		start_stranger(count, words);
	if (getpid() != 1 && count > PROGRAM)
		enter_host(words);

	mount_image();
	mount_writable();
	enter_image();
	check(job = fork(), "fork");
	if (!job)
		start_job();
	while (wait(NULL) != job || errno == EINTR)
		errno = 0;
	sync();
	switch_off();
}
