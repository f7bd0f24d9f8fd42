#!/usr/bin/env bash
# Package: ntplib 0.4.0 (PyPI)
# Behaviour: A time stamp of NTP's second era, from 7 February 2036 on, becomes a time in 1900, so
#   an offset against it is 136 years.
# Expected: the wrap of the 32-bit seconds is in RFC 5905, which says that a client picks the era
#   next to its clock.
# Seen: five seconds after the wrap: 1900-01-01 00:00:05 (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    ntplib==0.4.0 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
import datetime

import ntplib

seconds = ntplib.ntp_to_system_time(5)  # five seconds into era 1
print(datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds))
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
1900-01-01 00:00:05
END
