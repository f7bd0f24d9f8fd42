#!/bin/sh
# Makes a Debian machine ready for tcplab. Doing it again does no harm and takes a second.
#
#   provision.sh packages NAME...   install Debian packages; ./tcplab --yes installs what a command
#                                   lacks with this
#   provision.sh machine            all that native runs need, for a machine that is there for
#                                   tcplab only (Vagrant): packages, modules at every start,
#                                   libraries; then, here, `sudo python3 -m experiments.sack`
set -eu

root=$(cd "$(dirname "$0")" && pwd -P)
python=/usr/bin/python3
# Outside of a folder that is shared with another computer: neither has a use for the other's .venv.
venv=/var/lib/tcplab/venv
modules='sch_netem openvswitch'
export DEBIAN_FRONTEND=noninteractive

say() { printf 'provision: %s\n' "$*" >&2; }

# Waits ten minutes for another apt, such as the upgrades of a machine that has just started. apt
# itself waits for dpkg's lock only, not for those of its lists and archives (apt 2.6, measured).
apt_get() {
    left=120
    while :; do
        status=0
        errors=$(LC_ALL=C apt-get -o DPkg::Lock::Timeout=600 "$@" 2>&1 >&3) || status=$?
        [ -z "$errors" ] || printf '%s\n' "$errors" >&2
        case $errors in *'Could not get lock'*) left=$((left - 1)) ;; *) left=0 ;; esac
        [ "$left" -gt 0 ] || return "$status"
        sleep 5
    done
} 3>&2

# The lists are fetched only if they do not lead to the packages: none are here, or too old ones.
install_packages() {
    [ "$(id -u)" -eq 0 ] || { say "root is needed: sudo $0 packages $*"; exit 1; }
    install='install --yes --no-install-recommends'
    # shellcheck disable=SC2086 # the words of the command
    apt-cache show --no-all-versions "$@" >/dev/null 2>&1 && apt_get $install "$@" && return
    apt_get update || { say 'apt-get update failed; see above.'; exit 1; }
    # shellcheck disable=SC2086
    apt_get $install "$@" || { say 'the packages could not be installed; see above.'; exit 1; }
}

# One process for each, as modprobe -a goes on after a module that is not there.
load_modules() {
    mkdir -p /etc/modules-load.d
    # shellcheck disable=SC2086 # a line for each
    printf '%s\n' $modules >/etc/modules-load.d/tcplab.conf
    for module in $modules; do
        modprobe "$module" ||
            say "this kernel has no $module: native runs are not possible. See ./tcplab doctor."
    done
}

# Mounted over the checkout's own folder, which the launcher and sudo's python look into.
make_place_for_libraries() {
    mkdir -p "$venv" "$root/.venv"
    mountpoint -q "$root/.venv" || mount --bind "$venv" "$root/.venv"
    [ -z "${SUDO_UID-}" ] || chown "$SUDO_UID:${SUDO_GID-}" "$venv"
}

# Version 0.1 put the checkout on the path of the system's Python, for every program of the machine.
take_checkout_off_the_path() {
    rm -f "$("$python" -c 'import site; print(site.getsitepackages()[0])')/tcplab.pth"
}

prepare_machine() {
    [ -x "$python" ] || install_packages python3
    missing=$(cd "$root" && "$python" -B -m testbed.host.packages native)
    # The engine that reads captures comes compiled for x86-64 only.
    [ "$(uname -m)" = x86_64 ] || command -v cargo >/dev/null || missing="$missing cargo"
    # shellcheck disable=SC2086 # one word per package
    [ -z "$missing" ] || install_packages $missing
    load_modules
    make_place_for_libraries
    "$root/tcplab" lab list >/dev/null
    take_checkout_off_the_path
    say "ready: cd $root && sudo python3 -m experiments.sack"
}

case "${1-}" in
    packages) shift && install_packages "$@" ;;
    machine) prepare_machine ;;
    *) say "usage: $0 packages NAME... | machine"; exit 2 ;;
esac
