/* The instructions of a filter of system calls (filter.h). */
#define _GNU_SOURCE
#include "filter.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <unistd.h>

enum { MOST_VALUES = LENGTH(((struct call *)0)->values), OF_A_VALUE = 4 };
static struct sock_filter filter[BPF_MAXINSNS];
static unsigned short filled;

static void say(unsigned short code, unsigned int value, unsigned char when_true, unsigned char when_false)
{
	filter[filled++] = (struct sock_filter){ code, when_true, when_false, value };
}

static void load(size_t offset)
{
	say(BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static size_t values_of(const struct call *call)
{
	size_t count = 0;

	while (count < MOST_VALUES && call->values[count].mask)
		count++;
	return count;
}

/* Goes on behind this value if it is as it must be, and over the `left` values after it and the action if not. */
static void check_value(const struct value *value, size_t left)
{
	size_t over = OF_A_VALUE * left + 1;

	load(offsetof(struct seccomp_data, args) + 8 * value->argument);
	say(BPF_ALU | BPF_AND | BPF_K, value->mask, 0, 0);
	say(BPF_JMP | BPF_JGE | BPF_K, value->low, 0, over + 1);
	say(BPF_JMP | BPF_JGT | BPF_K, value->high, over, 0);
}

void answer(const struct call *call, unsigned int action)
{
	size_t count = values_of(call);

	say(BPF_JMP | BPF_JEQ | BPF_K, call->number, 0, OF_A_VALUE * count + 1 + !!count);
	for (size_t i = 0; i < count; i++)
		check_value(&call->values[i], count - i - 1);
	say(BPF_RET | BPF_K, action, 0, 0);
	if (count)
		load(offsetof(struct seccomp_data, nr));
}

void answer_all(const struct call *list, size_t length, unsigned int action)
{
	for (size_t i = 0; i < length; i++)
		answer(&list[i], action);
}

void begin(unsigned int action)
{
	load(offsetof(struct seccomp_data, arch));
	say(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	otherwise(action);
	load(offsetof(struct seccomp_data, nr));
}

void otherwise(unsigned int action)
{
	say(BPF_RET | BPF_K, action, 0, 0);
}

int enter(int flags)
{
	struct sock_fprog program = { filled, filter };

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}
