#!/usr/bin/env bash
# Package: tenacity 9.2.1 (PyPI)
# Behaviour: wait_exponential(multiplier=1, min=4, max=10) waits 4, 4, 4, 8, 10 s: min is a floor
#   under 1, 2, 4, 8, and no start.
# Expected: min is read as the first wait, from which the waits double.
# Seen: 4 4 4 8 10 (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    tenacity==9.2.1 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import tenacity

waits = []
retrying = tenacity.Retrying(
    wait=tenacity.wait_exponential(multiplier=1, min=4, max=10),
    stop=tenacity.stop_after_attempt(6),
    sleep=waits.append,
)
try:
    retrying(lambda: int("x"))
except tenacity.RetryError:
    print(*map(int, waits))
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
4 4 4 8 10
END
