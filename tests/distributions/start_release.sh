# shellcheck shell=dash
# What the emulated computer does after it has mounted /out: a release at /release, and a student
# who has an account.
# The test's own commands come last, as root; whatever happens, the computer is switched off.
trap 'sync; echo o >/proc/sysrq-trigger; sleep 9' EXIT
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
modprobe -a virtio_blk squashfs
mkdir -p /release /home /tmp /etc /dev/shm /dev/pts
mount -t squashfs -o ro /dev/vda /release
mount -t devpts -o ptmxmode=0666 devpts /dev/pts
for folder in /dev/shm /tmp /home; do mount -t tmpfs -o mode=1777 tmpfs "$folder"; done
ip link set lo up
echo 'student:x:1000:1000::/home:/bin/sh' >/etc/passwd
echo 'student:x:1000:' >/etc/group
# As systemd has it; the kernel's own 4096 are too few for a guest.
ulimit -Hn 524288

# tcplab WORDS...: as the student; what it prints goes to the file $what.
tcplab() {
    su student -c "cd /home && HOME=/home PATH=/usr/bin:/bin /release/tcplab $*" >>"/out/$what" 2>&1
    echo "status $?" >>"/out/$what"
}

# run NAME WORDS...: a run of sack, its captures' digests in NAME.sums, its manifest in NAME.json.
run() {
    what=$1
    shift
    tcplab run sack "$@" --out "/home/$what"
    (
        cd "/home/$what/sack/latest" || exit
        find . -name '*.pcap' | sort | xargs -r sha256sum >"/out/$what.sums"
        cp manifest.json "/out/$what.json"
    )
}

# shellcheck disable=SC1091
. /out/commands.sh
touch /out/ended
