/*
 * LD_PRELOAD for tcpdump, and for iperf over TCP, in virtual time only: what they do too often there, they do less
 * often. A trip from a program to its kernel and back is what a guest's second costs most.
 *
 * A receiver (`iperf -s -l 1M`) waits for all that it asked for, instead of receiving packet by packet, and gets the
 * number of bytes without the bytes (MSG_TRUNC, tcp(7)), which it does not look at. Segments and throughput stay, the
 * advertised windows change a little, so a run states that it used this.
 *
 * A sender, which writes the same again and again, hands over the same pages (sendfile(2)) instead of copies. In runs
 * of 200 kbit/s to 1 Gbit/s packets were the same, or the same but for two that left within the same few microseconds.
 *
 * The thread that reports naps a quarter of a second, not 16 ms, while little has happened (REPORTERDELAY_DURATION
 * in iperf's include/Reporter.h). What it reports has the times at which it happened. The ring between the threads
 * holds 5000 reads or writes, which with those of 64 KiB or more is enough for ten gigabits a second. From the end
 * of the data on it naps as ever: a connection is closed when its last report is made.
 *
 * tcpdump writes a quarter of a megabyte at once, not four kilobytes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Shorter receives are iperf's own messages, which must not wait for more than they ask for. */
#define BULK 65536
#define REPORTERS_NAP 16000000
#define LONG_NAP 250000000
#define WRITTEN_AT_ONCE (1 << 18)

static int at_end;

static void end_nap(void)
{
	__atomic_store_n(&at_end, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &at_end, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

ssize_t recv(int socket, void *buffer, size_t size, int flags)
{
	ssize_t received;

	if (size < BULK)
		return syscall(SYS_recvfrom, socket, buffer, size, flags, NULL, NULL);
	received = syscall(SYS_recvfrom, socket, buffer, size, flags | MSG_WAITALL | MSG_TRUNC, NULL, NULL);
	if (received < (ssize_t)size)
		end_nap();
	return received;
}

/* A file with what is written, which has its header and length from iperf's first write; below 0 if there is none. */
static int pages_of(const void *buffer, size_t size)
{
	static int file = -1, made;

	if (!made++ && (file = memfd_create("written", MFD_CLOEXEC)) >= 0) /* Linux 3.17 */
		syscall(SYS_write, file, buffer, size);
	return file;
}

ssize_t write(int file, const void *buffer, size_t size)
{
	int pages = size < BULK ? -1 : pages_of(buffer, size);
	off_t from = 0;

	return pages < 0 ? syscall(SYS_write, file, buffer, size) : sendfile(file, pages, &from, size);
}

int shutdown(int socket, int how)
{
	end_nap();
	return syscall(SYS_shutdown, socket, how);
}

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *asked, struct timespec *left)
{
	static const struct timespec nap = { 0, LONG_NAP };

	if (flags || asked->tv_sec || asked->tv_nsec != REPORTERS_NAP || at_end)
		return syscall(SYS_clock_nanosleep, clock, flags, asked, left) ? errno : 0;
	syscall(SYS_futex, &at_end, FUTEX_WAIT_PRIVATE, 0, &nap, NULL, 0);
	return 0;
}

FILE *fopen(const char *name, const char *mode)
{
	static FILE *(*opened)(const char *, const char *);
	FILE *file;

	if (!opened)
		*(void **)&opened = dlsym(RTLD_NEXT, "fopen");
	file = opened(name, mode);
	if (file && *mode == 'w')
		setvbuf(file, malloc(WRITTEN_AT_ONCE), _IOFBF, WRITTEN_AT_ONCE);
	return file;
}
