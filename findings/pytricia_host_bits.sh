#!/usr/bin/env bash
# Package: pytricia 1.3.0, py-radix 1.1.0 (PyPI)
# Behaviour: pytricia lists a prefix with the host bits that it was given: keys() has 10.1.2.3/8,
#   and get_key("10.9.9.9") returns that; py-radix returns 10.0.0.0.
# Expected: a routing table is keyed by networks, so two spellings of a prefix should come out the
#   same.
# Seen: pytricia 10.1.2.3/8, py-radix 10.0.0.0/8 (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    pytricia==1.3.0 py-radix==1.1.0 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import pytricia
import radix

tree = pytricia.PyTricia()
tree["10.1.2.3/8"] = "a"
tree["10.0.0.0/8"] = "b"
print("pytricia", tree.keys(), tree.get_key("10.9.9.9"), tree["10.9.9.9"])
table = radix.Radix()
table.add("10.1.2.3/8")
print("py-radix", table.prefixes(), table.search_best("10.9.9.9").prefix)
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
pytricia ['10.1.2.3/8'] 10.1.2.3/8 b
py-radix ['10.0.0.0/8'] 10.0.0.0/8
END
