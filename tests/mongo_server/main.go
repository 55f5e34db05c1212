// A small server that speaks MongoDB's protocol, for tests on machines without mongod: FerretDB over SQLite.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "loopback address; port 0 takes a free one")
	data := flag.String("data", ".", "existing folder for the databases")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:  ferretdb.ListenerConfig{TCP: "127.0.0.1:0"},
		Logger:    slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
		Handler:   "sqlite",
		SQLiteURL: "file:" + *data + "/?_pragma=synchronous(normal)", // safe from kill -9, if not from a power cut
	})
	must(err)
	clients, err := net.Listen("tcp", *listen)
	must(err)
	address, err := url.Parse(server.MongoDBURI())
	must(err)
	go newRelay(address.Host, *data).run(ctx, clients)
	fmt.Printf("mongodb://%s/\n", clients.Addr()) // both listen by now: whoever reads this line may connect
	must(server.Run(ctx))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
