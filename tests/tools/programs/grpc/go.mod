module grpcprobe

go 1.24

require google.golang.org/grpc v1.81.1
