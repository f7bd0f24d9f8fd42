// SPDX-License-Identifier: GPL-2.0-only
/*
 * exp: Reno, but bolder. Section 3.5 of the TCP assignment (published.csv) describes it in two lines:
 *
 *     a slow start exponential factor of 3 instead of 2 in Reno;
 *     ssthresh x 3 / 4 when entering loss recovery instead of ssthresh / 2 as in Reno.
 *
 * Written for today's kernel (Linux 7.2); net/ipv4/tcp_cong.c has the Reno that it changes. A congestion control
 * is a table of functions, struct tcp_congestion_ops, that TCP calls with its lock held:
 *
 *     ssthresh    a loss was noticed: where slow start has to end from now on
 *     cong_avoid  `acked` segments arrived that had not been acknowledged before: grow the congestion window
 *     undo_cwnd   the loss was none (segments had only been reordered): the window to go back to
 *
 * How the window shrinks during recovery is not its business: TCP does that by itself, towards ssthresh.
 */
#include <linux/module.h>
#include <net/tcp.h>

/* Each acknowledged segment lets this many more into the network, so a round trip multiplies the window by 3. */
#define EXP_GROWTH 2

/*
 * Grow by EXP_GROWTH for each acknowledged segment, up to ssthresh and no further. Returns how many acknowledged
 * segments were not needed for that: they count for congestion avoidance.
 */
static u32 exp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 before = tcp_snd_cwnd(tp);
	u32 after = min(before + EXP_GROWTH * acked, tp->snd_ssthresh);

	tcp_snd_cwnd_set(tp, min(after, tp->snd_cwnd_clamp));
	return acked - DIV_ROUND_UP(after - before, EXP_GROWTH);
}

static void exp_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	/* What was not in use says nothing about what the network can take. */
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = exp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	/* Past slow start as in Reno: one segment more for each window that arrived. */
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

/* Three quarters of the window stay; with less than 2 segments nothing would ever be acknowledged in time. */
static u32 exp_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) * 3 / 4, 2U);
}

static struct tcp_congestion_ops exp_ops __read_mostly = {
	.flags		= TCP_CONG_NON_RESTRICTED,	/* network namespaces, as Mininet's hosts are, may choose it */
	.ssthresh	= exp_ssthresh,
	.cong_avoid	= exp_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "exp",
};

static int __init exp_register(void)
{
	return tcp_register_congestion_control(&exp_ops);
}

static void __exit exp_unregister(void)
{
	tcp_unregister_congestion_control(&exp_ops);
}

module_init(exp_register);
module_exit(exp_unregister);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno with a slow start of factor 3 and three quarters of the window after a loss");
