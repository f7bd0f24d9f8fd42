#!/usr/bin/env bash
# Package: pyrate-limiter 4.5.1 (PyPI)
# Behaviour: try_acquire waits until a token is there: twelve calls under 5 a second all return
#   True, after two seconds.
# Expected: try_ names the call that returns False at once in threading, semaphores and other
#   limiters (and in this one before version 4).
# Seen: 12 times True, more than 2 s (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    pyrate-limiter==4.5.1 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import time

from pyrate_limiter import Duration, Limiter, Rate

limiter, start = Limiter(Rate(5, Duration.SECOND)), time.monotonic()
answers = [bool(limiter.try_acquire("client")) for _ in range(12)]
print(sum(answers), "of", len(answers), "waited", time.monotonic() - start >= 2)
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
12 of 12 waited True
END
