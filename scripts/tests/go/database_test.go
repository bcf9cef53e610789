package clients

import (
	"crypto/tls"
	"database/sql"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/driver"
)

// The name under which a DSN finds it.
func registered(t *testing.T, config *tls.Config) string {
	t.Helper()
	name := "of-" + t.Name()
	check(t, driver.RegisterTLSConfig(name, config))
	t.Cleanup(func() { check(t, driver.UnregisterTLSConfig(name)) })
	return name
}

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("flightsql", source(t))
	check(t, err)
	t.Cleanup(func() { check(t, db.Close()) })
	check(t, db.PingContext(t.Context()))
	return db
}

func TestDatabaseSqlReadsRows(t *testing.T) {
	db := open(t)
	rows, err := db.QueryContext(t.Context(), "SELECT value, 'row ' || value, CAST(value AS DOUBLE) / 2 FROM generate_series(1, 3) AS g (value) ORDER BY 1")
	check(t, err)
	defer rows.Close()
	var sum int64
	for rows.Next() {
		var number int64
		var text string
		var half float64
		check(t, rows.Scan(&number, &text, &half))
		same(t, float64(number)/2, half)
		sum += number
	}
	check(t, rows.Err())
	same(t, 6, sum)
}

func TestDatabaseSqlBindsParameters(t *testing.T) {
	db := open(t)
	ctx := t.Context()
	_, err := db.ExecContext(ctx, "CREATE OR REPLACE TABLE go_bound (a BIGINT, b VARCHAR, c DOUBLE, d BOOLEAN, e TIMESTAMP, f BYTEA)")
	check(t, err)
	at := time.Date(2026, 11, 20, 12, 34, 56, 789_000_000, time.UTC)
	// The driver binds no times and bytes, and to integers of other sizes than BIGINT nothing that database/sql hands it.
	insert := "INSERT INTO go_bound VALUES (?, ?, ?, ?, CAST(CAST(? AS VARCHAR) AS TIMESTAMP), X'00FF')"
	done, err := db.ExecContext(ctx, insert, int64(7), "seven", 7.5, true, at.Format("2006-01-02 15:04:05.999"))
	check(t, err)
	count, err := done.RowsAffected()
	check(t, err)
	same(t, 1, count)
	var text string
	var number float64
	var flag bool
	var moment time.Time
	var bytes []byte
	check(t, db.QueryRowContext(ctx, "SELECT b, c, d, e, f FROM go_bound WHERE a = ?", int64(7)).Scan(&text, &number, &flag, &moment, &bytes))
	same(t, "seven", text)
	same(t, 7.5, number)
	same(t, true, flag)
	same(t, at, moment.UTC())
	same(t, "\x00\xff", string(bytes))
}

func TestDatabaseSqlTransactions(t *testing.T) {
	db := open(t)
	ctx := t.Context()
	_, err := db.ExecContext(ctx, "CREATE OR REPLACE TABLE go_tx (a BIGINT)")
	check(t, err)
	for _, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
		transaction, err := db.BeginTx(ctx, nil)
		check(t, err)
		_, err = transaction.ExecContext(ctx, "INSERT INTO go_tx VALUES (1)")
		check(t, err)
		check(t, end(transaction))
	}
	var count int64
	check(t, db.QueryRowContext(ctx, "SELECT count(*) FROM go_tx").Scan(&count))
	same(t, 1, count)
}
