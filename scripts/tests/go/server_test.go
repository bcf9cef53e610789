// Package clients has Apache Arrow's Go clients talk to the real server, which __main__.py starts.
package clients

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

var (
	address     = os.Getenv("QUIVER_ADDRESS")
	certificate = os.Getenv("QUIVER_CERTIFICATE")
	user        = os.Getenv("QUIVER_USER")
	password    = os.Getenv("QUIVER_PASSWORD")
)

// nil where the server has no TLS.
func tlsConfig(t *testing.T) *tls.Config {
	t.Helper()
	if certificate == "" {
		return nil
	}
	pem, err := os.ReadFile(certificate)
	check(t, err)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		t.Fatal("there is no certificate in", certificate)
	}
	return &tls.Config{RootCAs: roots}
}

// A client that is logged in, where there are users, and the context of its calls.
func connect(t *testing.T) (context.Context, *flightsql.Client) {
	t.Helper()
	transport := insecure.NewCredentials()
	if config := tlsConfig(t); config != nil {
		transport = credentials.NewTLS(config)
	}
	client, err := flightsql.NewClient(address, nil, nil, grpc.WithTransportCredentials(transport))
	check(t, err)
	t.Cleanup(func() { check(t, client.Close()) })
	ctx := t.Context()
	if user != "" {
		ctx, err = client.Client.AuthenticateBasicToken(ctx, user, password)
		check(t, err)
	}
	return ctx, client
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func same[T comparable](t *testing.T, expected, found T) {
	t.Helper()
	if expected != found {
		t.Fatalf("expected %v, found %v", expected, found)
	}
}

// The address of the server as database/sql has it.
func source(t *testing.T) string {
	t.Helper()
	dsn := url.URL{Scheme: "flightsql", Host: address}
	if user != "" {
		dsn.User = url.UserPassword(user, password)
	}
	if config := tlsConfig(t); config != nil {
		dsn.RawQuery = "tls=" + registered(t, config)
	}
	return dsn.String()
}

// Every record of every endpoint, in order.
func read(t *testing.T, ctx context.Context, client *flightsql.Client, info *flight.FlightInfo, each func(arrow.RecordBatch)) {
	t.Helper()
	for _, endpoint := range info.Endpoint {
		reader, err := client.DoGet(ctx, endpoint.Ticket)
		check(t, err)
		for reader.Next() {
			each(reader.RecordBatch())
		}
		check(t, reader.Err())
		reader.Release()
	}
}

// One column of a result as text, from its first row to its last.
func texts(t *testing.T, ctx context.Context, client *flightsql.Client, info *flight.FlightInfo, column string) []string {
	t.Helper()
	var found []string
	read(t, ctx, client, info, func(batch arrow.RecordBatch) {
		at := batch.Schema().FieldIndices(column)
		if len(at) != 1 {
			t.Fatalf("%q is not a column of %v", column, batch.Schema())
		}
		for row := range int(batch.NumRows()) {
			found = append(found, batch.Column(at[0]).ValueStr(row))
		}
	})
	return found
}

func query(t *testing.T, ctx context.Context, client *flightsql.Client, sql, column string) []string {
	t.Helper()
	info, err := client.Execute(ctx, sql)
	check(t, err)
	return texts(t, ctx, client, info, column)
}

func update(t *testing.T, ctx context.Context, client *flightsql.Client, sql string) int64 {
	t.Helper()
	rows, err := client.ExecuteUpdate(ctx, sql)
	check(t, err)
	return rows
}
