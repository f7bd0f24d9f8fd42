#!/bin/busybox sh
# shellcheck shell=dash
# First process of the emulated computer: the lab's image as root, with this kernel's modules, then the job.
# Whatever happens, the computer is switched off, and what was said is on the serial line.
/bin/busybox --install -s /bin
set -e
trap 'sync; echo o >/proc/sysrq-trigger; sleep 9' EXIT
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
modprobe -a virtio_pci virtio_blk squashfs overlay 9pnet_virtio 9p
# The kernel loads these on demand; but of two who ask at once, busybox answers one before the module is there.
modprobe -a veth sch_netem sch_tbf openvswitch tcp_vegas inet_diag tcp_diag

mount -t squashfs -o ro /dev/vda /image
mount -t tmpfs tmpfs /written
mkdir /written/upper /written/work
mount -t overlay -o lowerdir=/image,upperdir=/written/upper,workdir=/written/work overlay /root
mkdir -p /root/usr/lib/modules /root/lab/out
mount --bind /lib/modules /root/usr/lib/modules
for folder in run tmp var/log root dev/pts dev/shm; do
    case $folder in dev/*) mkdir -p "/$folder" ;; esac
done
mount --move /dev /root/dev
mount -t devpts -o ptmxmode=0666 devpts /root/dev/pts
for folder in run tmp dev/shm; do mount -t tmpfs tmpfs "/root/$folder"; done
mount -t proc proc /root/proc
mount -t sysfs sysfs /root/sys
mount -t 9p -o trans=virtio,version=9p2000.L out /root/lab/out

cd /root
# Moved, not only chroot(2)ed: setns(2), which mnexec uses, leads to the root of the mount namespace.
mount --move . /
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb PYTHONUNBUFFERED=1
chroot . /bin/sh -c 'depmod; ip link set lo up; python3 -B /lab/out/job.pyz /lab/out/job.pyz /lab/out /tmp/work native >/lab/out/job.log 2>&1; echo o >/proc/sysrq-trigger; sleep 9'
