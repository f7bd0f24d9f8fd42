#!/usr/bin/env bash
# Package: hdrhistogram 0.10.8 (PyPI)
# Behaviour: record_value above the highest trackable value returns False and counts nothing, so
#   the worst latencies vanish from the percentiles; and the maximum is the upper edge of a
#   bucket, larger than any value recorded.
# Expected: a value that is not recorded was expected to raise, as in Java, and a maximum to be
#   one of the values.
# Seen: 99 values of 500003 and one of 50000000: count 99, maximum 500223 (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m pip -q install --disable-pip-version-check --no-compile --target lib \
    hdrhistogram==0.10.8 2>log ||
    { echo "not checked: $(tail -1 log)" >&2; exit 3; }
export PYTHONPATH=$work/lib PYTHONWARNINGS=ignore
python3 - >seen <<'END'
from hdrh.histogram import HdrHistogram

histogram = HdrHistogram(1, 1_000_000, 3)
for _ in range(99):
    histogram.record_value(500_003)
print("recorded", histogram.record_value(50_000_000))
print("count", histogram.get_total_count(), "maximum", histogram.get_max_value())
END
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
recorded False
count 99 maximum 500223
END
