#!/usr/bin/env bash
# Package: salabim 26.0.9 (PyPI)
# Behaviour: Each process draws the same numbers: the default seed is fixed, so ten runs of a
#   queue model are one run ten times.
# Expected: random, NumPy, SimPy models and Ciw give other numbers in each process; to repeat a
#   run one has to ask.
# Seen: two processes, one number (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    salabim==26.0.9 greenlet==3.2.4 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
for _ in 1 2; do
    python3 -c 'import salabim as s; s.Environment(); print(s.Uniform(0, 1).sample())'
done | sort -u | wc -l >seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
1
END
