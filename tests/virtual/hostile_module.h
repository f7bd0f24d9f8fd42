#include <linux/delay.h>
#include <linux/kmod.h>

static int which;
module_param(which, int, 0);
static char room[1 << 16];

static long host_call(long number, long a, long b, long c, long d, long e)
{
	register long r10 asm("r10") = d;
	register long r8 asm("r8") = e;
	register long r9 asm("r9") = 0;
	long result;

	asm volatile("syscall" : "=a"(result)
		: "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	return result;
}
#define HOST(number, ...) HOST_(number, ##__VA_ARGS__, 0, 0, 0, 0, 0)
#define HOST_(number, a, b, c, d, e, ...) \
    host_call(number, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
#define TELL(value) pr_alert("attack %ld\n", (long)(value))

static long opened(const char *path, int flags)
{
	return HOST(257, -100, path, flags, 0644);
}

static void sleep_outside(long seconds)
{
	long time[2] = { seconds, 0 };

	HOST(35, time, 0);
}
#define WRITING 01101 /* O_WRONLY | O_CREAT | O_TRUNC */

