"""The kernel settings that all experiments take for granted on every host, each with its reason.

Meanings: Documentation/networking/ip-sysctl.rst. A condition overrides single settings by name.
"""

from __future__ import annotations

HOST: dict[str, str] = {
    # Routes would otherwise remember ssthresh and RTT of one connection for the next one.
    "net.ipv4.tcp_no_metrics_save": "1",
    # The kernel's defaults, written down: a distribution or an administrator may have changed them.
    "net.ipv4.tcp_congestion_control": "cubic",
    "net.ipv4.tcp_sack": "1",
    "net.ipv4.tcp_dsack": "1",
    "net.ipv4.tcp_timestamps": "1",
    "net.ipv4.tcp_window_scaling": "1",
    "net.ipv4.tcp_recovery": "1",  # RACK
    "net.ipv4.tcp_early_retrans": "3",  # tail loss probes
    "net.ipv4.tcp_max_reordering": "300",  # before the next, which can be no higher
    "net.ipv4.tcp_reordering": "3",
    "net.ipv4.tcp_frto": "2",
    "net.ipv4.tcp_ecn": "2",  # only if the other side asks
    "net.ipv4.tcp_slow_start_after_idle": "1",
    # The kernel derives these from its memory; a laptop and a lab kernel must agree.
    "net.ipv4.tcp_rmem": "4096 131072 6291456",
    "net.ipv4.tcp_wmem": "4096 16384 4194304",
    # Router and neighbour discovery would appear in captures and counters.
    "net.ipv6.conf.all.disable_ipv6": "1",
}

# Of the namespace that the switches are in: its own packets would leave through the ports and be
# captured.
SWITCHES: dict[str, str] = {
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
}

# If the kernel has it (6.1 and later): hosts that are made from now on have a table of connections
# of their own. A request for a host's sockets walks through its whole table; the common one has
# 8192 rows and the sockets of all hosts.
CONNECTION_TABLE = ("net.ipv4.tcp_child_ehash_entries", "512")

# Of the whole kernel, if it may be set. A packet that crosses a cable waits in this queue for its
# receiver. The usual 1000 places would lose a burst of a fast sender, and no queue of the network
# would count it (experiments/wan_reordering/README.md).
CABLES = ("net.core.netdev_max_backlog", "1000000")

# Of the whole kernel as well: neighbours of all hosts together. Before Linux 5.0 those that are
# permanent, as all of ours, count for the limit, which is usually 1024: forty hosts that know each
# other are more.
NEIGHBOURS = ("net.ipv4.neigh.default.gc_thresh3", "1000000")

ROUTER: dict[str, str] = {
    "net.ipv4.ip_forward": "1",
    # A packet may come back another way than it went.
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.all.send_redirects": "0",
    "net.ipv6.conf.all.disable_ipv6": "1",
}
