/*
 * Waiting that also ends where time passes only while somebody waits: linked into packetdrill.
 *
 * Before its first event packetdrill calls times(2) again and again until 100 ms have passed, to
 * start in the middle of a tick. In virtual time processor time costs nothing and times(2) does not
 * move the clock, so that loop would never end. Here each call waits for a tenth of a millisecond
 * first; ld(1) puts it in the place of times (--wrap). A start is then at most that much later in
 * its tick of a millisecond, of which packetdrill wants to be past the first quarter.
 *
 * And sleep ends when it should, not up to 50 us later (PR_SET_TIMERSLACK in prctl(2)).
 */
#include <sys/prctl.h>
#include <sys/times.h>
#include <time.h>

clock_t __real_times(struct tms *buffer);

clock_t __wrap_times(struct tms *buffer)
{
	const struct timespec moment = { .tv_nsec = 100000 };

	nanosleep(&moment, NULL);
	return __real_times(buffer);
}

__attribute__((constructor)) static void sleep_exactly(void)
{
	prctl(PR_SET_TIMERSLACK, 1);
}
