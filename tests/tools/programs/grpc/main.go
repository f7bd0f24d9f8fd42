// A server and a client of gRPC: the health service, asked twenty times over one connection.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
)

func main() {
	if len(os.Args) > 1 {
		listener, _ := net.Listen("tcp", ":7000")
		server := grpc.NewServer()
		grpc_health_v1.RegisterHealthServer(server, health.NewServer())
		panic(server.Serve(listener))
	}
	begun := time.Now()
	plain := grpc.WithTransportCredentials(insecure.NewCredentials())
	connection, err := grpc.NewClient("h2:7000", plain)
	if err != nil {
		panic(err)
	}
	for number := 0; number < 20; number++ {
		answer, err := grpc_health_v1.NewHealthClient(connection).Check(context.Background(),
			&grpc_health_v1.HealthCheckRequest{})
		if err != nil {
			panic(err)
		}
		fmt.Println(number, answer.Status)
	}
	fmt.Println("20 answers in", time.Since(begun))
}
