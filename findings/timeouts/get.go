// GET each URL by the default client, three seconds apart.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	for index, url := range os.Args[1:] {
		if index > 0 {
			time.Sleep(3 * time.Second)
		}
		answer, err := http.Get(url)
		if err != nil {
			log.Fatal(err)
		}
		io.Copy(io.Discard, answer.Body)
		answer.Body.Close()
	}
}
