/* Filters of system calls (seccomp(2)) as lists of calls and values: confine_filter.c, strangers.c. */
#ifndef FILTER_H
#define FILTER_H

#include <stddef.h>
#include <sys/syscall.h>

#ifndef LENGTH
#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#endif

/*
 * Each value of an argument must be from `low` to `high` under `mask`; mask 0 ends the list. The lower 32 bits are
 * looked at: Linux takes no more of any argument that is checked. `answered` is confine_filter.c's.
 */
struct value { unsigned char argument; unsigned int mask, low, high; };
struct call { unsigned short number, answered; struct value values[4]; };
#define IS(argument, value) { argument, ~0u, value, value }
#define FROM(argument, low, high) { argument, ~0u, low, high }
#define ONLY(argument, bits) { argument, ~(unsigned int)(bits), 0, 0 } /* no other bit is set */
#define BITS(argument, mask, value) { argument, mask, value, value }
#define ANY(name) { SYS_##name, 0, { { 0, 0, 0, 0 } } }
#define CALL(name, ...) { SYS_##name, 0, { __VA_ARGS__ } }
#define ASKED(name, ...) { SYS_##name, 1, { __VA_ARGS__ } }

/* A filter from its first instruction to its last: another architecture gets `action`. */
void begin(unsigned int action);
/* Ends the way through the filter with `action` for this call, or for all calls of a list. */
void answer(const struct call *call, unsigned int action);
void answer_all(const struct call *list, size_t length, unsigned int action);
/* All other calls get `action`. */
void otherwise(unsigned int action);
/* Enters the filter; what seccomp(2) returns. */
int enter(int flags);

#endif
