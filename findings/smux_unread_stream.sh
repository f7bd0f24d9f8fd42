#!/usr/bin/env bash
# Package: github.com/xtaci/smux 1.5.58 (Go)
# Behaviour: A stream that is not read stalls all streams of the session: the default protocol
#   version 1 has one buffer of 4 MiB for the session and no window for a stream. Version 2 has
#   one.
# Expected: MaxStreamBuffer is in the default configuration, and yamux and HTTP/2 limit each
#   stream.
# Seen: a second stream with default settings: stalled; with Version 2: answered (2026-11-29)
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
	"time"

	"github.com/xtaci/smux"
)

func second(version int) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	near, _ := net.Dial("tcp", listener.Addr().String())
	far, _ := listener.Accept()
	config := smux.DefaultConfig()
	config.Version = version
	client, _ := smux.Client(near, config)
	server, _ := smux.Server(far, config)
	defer near.Close()
	defer far.Close()
	unread, _ := client.OpenStream()
	go func() {
		for _, err := unread.Write(make([]byte, 100_000)); err == nil; {
			_, err = unread.Write(make([]byte, 100_000))
		}
	}()
	server.AcceptStream()
	time.Sleep(time.Second)
	answer := make(chan string, 1)
	go func() {
		if other, err := server.AcceptStream(); err == nil {
			other.Read(make([]byte, 1))
			answer <- "answered"
		}
	}()
	go func() {
		if other, err := client.OpenStream(); err == nil {
			other.Write([]byte("x"))
		}
	}()
	select {
	case text := <-answer:
		return text
	case <-time.After(5 * time.Second):
		return "stalled"
	}
}

func main() {
	fmt.Println("default is version", smux.DefaultConfig().Version)
	fmt.Println("version 1", second(1))
	fmt.Println("version 2", second(2))
}
END
go mod init finding 2>log
for module in github.com/xtaci/smux@v1.5.58; do
    go get "$module" 2>log || { echo "not checked: $(tail -1 log)" >&2; exit 3; }
done
go build -o finding .
./finding >seen
cat seen
diff - seen <<'END' || { echo "changed since 2026-11-29" >&2; exit 1; }
default is version 1
version 1 stalled
version 2 answered
END
