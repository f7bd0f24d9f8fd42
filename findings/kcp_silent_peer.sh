#!/usr/bin/env bash
# Package: github.com/xtaci/kcp-go/v5 5.7.5 (Go)
# Behaviour: A session to a peer that never answers accepts writes without an error, half a minute
#   later too: neither dialling nor resending ends it, and reading waits without end.
# Expected: KCP counts resends and has a dead-link limit of 20, and the interface is that of a TCP
#   connection.
# Seen: three writes in 30 s, no error, more than five datagrams sent (2026-11-29)
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export GOPATH=$work/go GOFLAGS=-modcacherw GOTOOLCHAIN=local
cat >main.go <<'END'
package main

import (
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/xtaci/kcp-go/v5"
)

func main() {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	var sent atomic.Int64
	go func() {
		for buffer := make([]byte, 65536); ; sent.Add(1) {
			silent.ReadFrom(buffer)
		}
	}()
	session, err := kcp.DialWithOptions(silent.LocalAddr().String(), nil, 0, 0)
	fmt.Println("dial", err)
	for range 3 {
		_, err := session.Write([]byte("x"))
		fmt.Println("write", err)
		time.Sleep(10 * time.Second)
	}
	session.SetReadDeadline(time.Now().Add(time.Second))
	_, err = session.Read(make([]byte, 1))
	fmt.Println("read", err)
	fmt.Println("more than five datagrams:", sent.Load() > 5)
}
END
go mod init finding 2>log
for module in github.com/xtaci/kcp-go/v5@v5.7.5; do
    go get "$module" 2>log || { echo "not checked: $(tail -1 log)" >&2; exit 3; }
done
go build -o finding .
./finding >seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
dial <nil>
write <nil>
write <nil>
write <nil>
read timeout
more than five datagrams: true
END
