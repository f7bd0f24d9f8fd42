/* What the parts of `confine` share: confine.c, confine_filter.c, supervisor.c, places.c. */
#ifndef CONFINE_H
#define CONFINE_H

#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>

/* Of memfd_create(2), since Linux 6.3. */
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Descriptors. The kernel's file has the first number that is beyond the limit, so that nothing can ever have it
 * again; the lab kernel does the same with the program of its processes, one below (patches/confinement.patch,
 * pin_stub). Below that is the socket of a guest that takes orders (patches/orders.patch).
 */
enum { DESCRIPTORS = 8192, KERNEL = DESCRIPTORS, STUB = DESCRIPTORS - 1, LINE = DESCRIPTORS - 2 };

/* Ends this program with `what` and errno's words if `failed`. */
void check(int failed, const char *what);
int opened(const char *path, int flags);

/*
 * Enters the filter of system calls, for a kernel that traces its processes if `traces`. With `mediated` the calls
 * that name a file or a process wait for an answer through the descriptor that this returns.
 */
int enter_filter(int traces, int mediated);

/* The paths of the guest: supervisor.c answers for them, places.c knows where they lead. */
struct spot { int folder; char name[256]; int writable, is_memory; };
void add_place(const char *words, int writable);
/* Where the kernel finds its file PATH; ends this program if there is no such place. */
int place(const char *path);
/* 0 and the spot of a path, an empty name standing for the folder itself, or a negative errno. */
int find_spot(const char *path, struct spot *spot);
/* Whether the file that is open as `file` lies in a place that may be written to. */
int is_in_writable_place(int file);
/* 0 or a negative errno; `spot->folder` belongs to the caller then. */
int open_spot(const struct spot *spot, int flags, mode_t mode);

/*
 * Answers the calls of `kernel`, whose memory is a file of `size` bytes, until it ends or SIGTERM comes, then ends
 * whatever it has left; its status as a shell says it.
 */
int supervise(pid_t kernel, rlim_t size, int listener);

#endif
