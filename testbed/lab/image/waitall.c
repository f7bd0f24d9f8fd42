/*
 * LD_PRELOAD for `iperf -s -l 1M`: one long receive instead of one per packet. A trip to user space per packet
 * is what a run in virtual time costs most; segments and throughput stay, the advertised windows change a little,
 * so a run states that it used this.
 *
 * syscall(2) instead of the next recv(): nothing here needs a newer C library than the guest's.
 */
#define _GNU_SOURCE
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Shorter receives are iperf's own messages, which must not wait for more than they ask for. */
#define BULK 65536

ssize_t recv(int socket, void *buffer, size_t size, int flags)
{
	return syscall(SYS_recvfrom, socket, buffer, size, size >= BULK ? flags | MSG_WAITALL : flags, NULL, NULL);
}
