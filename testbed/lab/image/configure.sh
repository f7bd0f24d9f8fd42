#!/bin/sh
# Runs inside the guest's root, with the guest's own programs, instead of the packages' scripts.
set -e

# Where the run's folder and the package's code are mounted.
mkdir -p /lab
rm -rf /var/run /var/lock
ln -s ../run /var/run
ln -s ../run/lock /var/lock
echo "127.0.0.1 localhost" > /etc/hosts
echo "lab" > /etc/hostname
cp /usr/share/base-passwd/passwd.master /etc/passwd
cp /usr/share/base-passwd/group.master /etc/group

# What update-alternatives would have made.
ln -s which.debianutils /usr/bin/which
ln -s mawk /usr/bin/awk
ln -s ../lib/openvswitch-switch/ovs-vswitchd /usr/sbin/ovs-vswitchd

ldconfig -X
rm -rf /var/cache/ldconfig

# Compiled once here: the root is read-only, so every start of Python would compile its modules again.
# The hash of the source instead of its time: the same bytes every time, and not checked at import.
python3 -m compileall -q -j 0 --invalidation-mode unchecked-hash /usr/lib/python3.11 /usr/lib/python3
