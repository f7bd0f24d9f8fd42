// A server and a client of net/http, with goroutines.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "server" {
		http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, strings.Repeat("x", 20000))
		})
		panic(http.ListenAndServe(":7000", nil))
	}
	begun := time.Now()
	var all sync.WaitGroup
	for i := 0; i < 8; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			reply, err := http.Get("http://h2:7000/")
			if err != nil {
				panic(err)
			}
			body, _ := io.ReadAll(reply.Body)
			if len(body) != 20000 {
				panic(len(body))
			}
		}()
	}
	all.Wait()
	fmt.Printf("8 pages in %.6f s\n", time.Since(begun).Seconds())
}
