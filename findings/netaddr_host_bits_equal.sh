#!/usr/bin/env bash
# Package: netaddr 1.3.0 (PyPI)
# Behaviour: IPNetwork("10.1.2.3/24") == IPNetwork("10.1.2.0/24") is True, and a set keeps one of
#   them, though each prints its address.
# Expected: an IPNetwork keeps the address with host bits (.ip), like ipaddress.ip_interface,
#   where the two differ.
# Seen: True, one element, 10.1.2.3/24 (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    netaddr==1.3.0 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import ipaddress

from netaddr import IPNetwork

first, second = IPNetwork("10.1.2.3/24"), IPNetwork("10.1.2.0/24")
print(first == second, len({first, second}), *map(str, {first, second}))
print(ipaddress.ip_interface("10.1.2.3/24") == ipaddress.ip_interface("10.1.2.0/24"))
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
True 1 10.1.2.3/24
False
END
