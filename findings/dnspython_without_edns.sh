#!/usr/bin/env bash
# Package: dnspython 2.9.2 (PyPI)
# Behaviour: Queries carry no EDNS unless asked for, so an answer of more than 512 bytes comes
#   truncated, and the resolver asks again over TCP.
# Expected: EDNS with 1232 bytes is the habit of resolvers since 2020, and the library has all of
#   it.
# Seen: query of 27 bytes, additional records 0; Resolver edns -1 (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    dnspython==2.9.2 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import socket

import dns.message
import dns.resolver

listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listener.bind(("127.0.0.1", 0))
resolver = dns.resolver.Resolver(configure=False)
resolver.nameservers, resolver.port = ["127.0.0.1"], listener.getsockname()[1]
resolver.lifetime = 0.5
try:
    resolver.resolve("a.example.")
except dns.resolver.LifetimeTimeout:
    query = listener.recv(4096)
    print("query", len(query), "bytes, additional records", query[11])
print("edns", resolver.edns, dns.message.make_query("a.example.", "A").edns)
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
query 27 bytes, additional records 0
edns -1 -1
END
