/*
 * LD_PRELOAD for iperf over TCP, in virtual time only: what it does too often there, it does less often. A trip from
 * a program to its kernel and back is what a guest's second costs most.
 *
 * A receiver (`iperf -s -l 1M`) waits for all that it asked for, instead of receiving packet by packet, and gets the
 * number of bytes without the bytes (MSG_TRUNC, tcp(7)), which it does not look at. Segments and throughput stay, the
 * advertised windows change a little, so a run states that it used this.
 *
 * The thread that reports naps a quarter of a second, not 16 ms, while little has happened (REPORTERDELAY_DURATION
 * in iperf's include/Reporter.h). What it reports has the times at which it happened. The ring between the threads
 * holds 5000 reads or writes, which with those of 64 KiB or more is enough for ten gigabits a second. From the end
 * of the data on it naps as ever: a connection is closed when its last report is made.
 *
 * syscall(2) instead of the next function of the name: nothing here needs a newer C library than the guest's.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Shorter receives are iperf's own messages, which must not wait for more than they ask for. */
#define BULK 65536
#define REPORTERS_NAP 16000000
#define LONG_NAP 250000000

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
