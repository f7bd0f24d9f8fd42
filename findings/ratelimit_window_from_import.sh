#!/usr/bin/env bash
# Package: ratelimit 2.2.1 (PyPI)
# Behaviour: The window of limits(calls=5, period=1) begins when the function is decorated, and
#   then jumps: ten calls in 0.4 s pass.
# Expected: "5 calls in one second" is read as a window that slides, or that begins with the first
#   call.
# Seen: 5 calls 0.8 s after the decoration and 5 more 0.3 s later, all pass (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    ratelimit==2.2.1 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import time

from ratelimit import RateLimitException, limits


@limits(calls=5, period=1)
def call():
    return 1


def burst():
    passed = 0
    for _ in range(9):
        try:
            passed += call()
        except RateLimitException:
            pass
    return passed


time.sleep(0.8)
first = burst()
time.sleep(0.3)
print(first, burst())
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
5 5
END
