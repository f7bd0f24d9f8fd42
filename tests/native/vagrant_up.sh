#!/bin/sh
# A whole `vagrant up` on a machine without KVM, with a box that is built from Debian packages:
#
#   sudo tests/native/vagrant_up.sh [WHEELS]
#
# libvirtd runs in network and mount namespaces of its own, whose uplink is slirp4netns: all of it ends with this script.
# WHEELS is a folder for a machine that reaches no PyPI from inside:  pip download -d WHEELS . setuptools
# QEMU is asked for all that it emulates (max): libvirt's qemu64, the model of an old processor, has no AVX2, which the
# analysis needs. A machine with KVM has its own processor and no such limit.
# It takes 7 minutes of two idle processors, since QEMU emulates every instruction, and needs:
#   apt-get install vagrant vagrant-libvirt libvirt-daemon libvirt-daemon-system libvirt-clients dnsmasq-base iptables \
#       qemu-system-x86 qemu-utils mmdebstrap slirp4netns rsync
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd -P)
wheels=${1-}
[ "$(id -u)" -eq 0 ] || { echo "root is needed: sudo $0" >&2; exit 1; }

if [ -z "${WORK-}" ]; then
    WORK=$(mktemp -d)
    export WORK
    trap 'rm -rf "$WORK"' EXIT
    mkfifo "$WORK/ready"
    unshare --net --mount --pid --fork --kill-child --mount-proc sh "$0" "$wheels" &
    inner=$!
    read -r _ <"$WORK/ready"
    slirp4netns --configure --mtu=65520 "$(tr -d ' ' <"/proc/$inner/task/$inner/children")" tap0 >/dev/null 2>&1 &
    uplink=$!
    status=0
    wait "$inner" || status=$?
    kill "$uplink" 2>/dev/null || true
    exit "$status"
fi

say() { echo "vagrant_up: $(date +%T) $*" >&2; }

# What a published box has, and our packages but one, so that provisioning has something to install.
build_box() {
    say 'building the box'
    packages='linux-image-amd64 systemd-sysv udev dbus openssh-server sudo rsync ifupdown isc-dhcp-client kmod mount
        ca-certificates python3 python3-venv mininet openvswitch-switch tcpdump tcptrace iproute2'
    # shellcheck disable=SC2086 # one word per package
    mmdebstrap --quiet --variant=minbase --skip=cleanup/apt/lists --include="$(echo $packages | tr ' ' ,)" \
        bookworm "$WORK/root"
    chroot "$WORK/root" useradd --create-home --shell /bin/bash vagrant
    mkdir -p "$WORK/root/home/vagrant/.ssh" "$WORK/root/opt/wheels"
    cp "$(find /usr/share /opt/vagrant -name vagrant.pub 2>/dev/null | head -n 1)" "$WORK/root/home/vagrant/.ssh/authorized_keys"
    chroot "$WORK/root" chown -R vagrant:vagrant /home/vagrant
    echo 'vagrant ALL=(ALL) NOPASSWD: ALL' >"$WORK/root/etc/sudoers.d/vagrant"
    printf 'auto lo eth0\niface lo inet loopback\niface eth0 inet dhcp\n' >"$WORK/root/etc/network/interfaces"
    if [ -n "$wheels" ]; then
        cp "$wheels"/*.whl "$WORK/root/opt/wheels"
        printf '[global]\nno-index = true\nfind-links = /opt/wheels\n' >"$WORK/root/etc/pip.conf"
    fi
    cp "$WORK"/root/boot/vmlinuz-* "$WORK/vmlinuz"
    cp "$WORK"/root/boot/initrd.img-* "$WORK/initrd"
    mke2fs -q -t ext4 -d "$WORK/root" "$WORK/disk.raw" 5G
    rm -rf "$WORK/root"
    qemu-img convert -O qcow2 "$WORK/disk.raw" "$WORK/box.img"
    rm "$WORK/disk.raw"
    echo '{"provider": "libvirt", "format": "qcow2", "virtual_size": 5}' >"$WORK/metadata.json"
    tar -C "$WORK" -cf "$WORK/tcplab.box" metadata.json box.img
    rm "$WORK/box.img"
}

# Only what no KVM takes: the project's own Vagrantfile leaves these to libvirt.
write_home() {
    mkdir -p "$VAGRANT_HOME"
    cat >"$VAGRANT_HOME/Vagrantfile" <<END
Vagrant.configure("2") do |config|
  config.vm.boot_timeout = 900
  config.vm.provider "libvirt" do |box|
    box.driver, box.cpu_mode, box.cpu_model, box.graphics_type = "qemu", "custom", "qemu64", "none"
    %w[-cpu max,la57=off].each { |word| box.qemuargs value: word } # the last -cpu counts
    box.kernel, box.initrd = "$WORK/vmlinuz", "$WORK/initrd"
    box.cmd_line = "root=/dev/vda rw net.ifnames=0 tsc=reliable"
  end
end
END
}

start_libvirt() {
    for folder in /run /etc/libvirt /var/lib/libvirt /var/cache/libvirt /var/log/libvirt; do
        mkdir -p "$folder" "$WORK/private$folder"
        mount --bind "$WORK/private$folder" "$folder"
    done
    printf 'nameserver 10.0.2.3\n' >"$WORK/resolv.conf"
    mount --bind "$WORK/resolv.conf" "$(readlink -f /etc/resolv.conf)"
    mkdir -p /var/lib/libvirt/images /var/lib/libvirt/dnsmasq
    printf '%s\n' 'user = "root"' 'group = "root"' 'security_driver = "none"' 'stdio_handler = "file"' \
        'cgroup_controllers = []' >/etc/libvirt/qemu.conf
    printf 'auth_unix_rw = "none"\nauth_unix_ro = "none"\n' >/etc/libvirt/libvirtd.conf
    mount -t sysfs sysfs /sys # of this network
    echo 1 >/proc/sys/net/ipv4/ip_forward
    libvirtd --daemon --config /etc/libvirt/libvirtd.conf
}

mount --make-rprivate /
ip link set lo up
echo ready >"$WORK/ready"
build_box
export VAGRANT_HOME="$WORK/home" TCPLAB_BOX=tcplab/debian
write_home
start_libvirt
mkdir "$WORK/checkout"
(cd "$root" && git ls-files -z | xargs -0 cp --parents -t "$WORK/checkout")
cd "$WORK/checkout"
vagrant box add --name "$TCPLAB_BOX" "$WORK/tcplab.box" >&2
say 'vagrant up'
vagrant up --provider libvirt >&2
say 'a run, as the README has it'
vagrant ssh --no-tty -c 'cd /vagrant && sudo python3 -m experiments.sack --duration 10s'
# Nothing of ours is on the path of the system's Python: in another folder it is not found.
! vagrant ssh --no-tty -c 'sudo python3 -m experiments.sack --list' 2>/dev/null || exit 1
vagrant ssh --no-tty -c 'tar -C /vagrant -c runs' | tar -x
test -s runs/sack/latest/report.html
vagrant destroy --force >&2
say 'done: the machine came up, ran, and its report came out'
