#!/usr/bin/env bash
# Package: go.uber.org/ratelimit 0.3.1 (Go)
# Behaviour: A limiter of 100 a second lets a burst of more than ten calls through at once after a
#   pause, since it keeps a slack of ten calls by default.
# Expected: it is a leaky bucket that spaces calls evenly, by its description; WithoutSlack is the
#   option for that.
# Seen: 12 calls within 5 ms after half a second without a call (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOPATH=$work/go GOFLAGS=-modcacherw GOTOOLCHAIN=local
cat >main.go <<'END'
package main

import (
	"fmt"
	"time"

	"go.uber.org/ratelimit"
)

func burst(limiter ratelimit.Limiter) int {
	limiter.Take()
	time.Sleep(500 * time.Millisecond)
	calls := 0
	for start := time.Now(); time.Since(start) < 5*time.Millisecond; calls++ {
		limiter.Take()
	}
	return calls
}

func main() {
	fmt.Println("default: ten or more:", burst(ratelimit.New(100)) >= 10)
	fmt.Println("WithoutSlack: at most three:", burst(ratelimit.New(100, ratelimit.WithoutSlack)) <= 3)
}
END
go mod init finding 2>log
for module in go.uber.org/ratelimit@v0.3.1; do
    go get "$module" 2>log || { echo "not checked: $(tail -1 log)" >&2; exit 3; }
done
go build -o finding .
./finding >seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
default: ten or more: true
WithoutSlack: at most three: true
END
