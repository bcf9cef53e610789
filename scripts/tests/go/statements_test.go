package clients

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestAQueryGivesItsRows(t *testing.T) {
	ctx, client := connect(t)
	found := query(t, ctx, client, "SELECT value, 'row ' || value AS b FROM generate_series(1, 3) AS g (value) ORDER BY 1", "b")
	if !slices.Equal(found, []string{"row 1", "row 2", "row 3"}) {
		t.Fatal(found)
	}
}

func TestValuesOfEveryTypeAreRead(t *testing.T) {
	ctx, client := connect(t)
	values := map[string]string{
		"true":                  "true",
		"CAST(-128 AS TINYINT)": "-128",
		"CAST(18446744073709551615 AS BIGINT UNSIGNED)":          "18446744073709551615",
		"CAST('-12.345' AS DECIMAL(9, 3))":                       "-12.345",
		"CAST(0.5 AS DOUBLE)":                                    "0.5",
		"'Grüße 🦀'":                                              "Grüße 🦀",
		"DATE '2026-11-20'":                                      "2026-11-20",
		"TIME '12:34:56.789'":                                    "12:34:56.789000000",
		"TIMESTAMP '2026-11-20 12:34:56.5'":                      "2026-11-20T12:34:56.5",
		"TIMESTAMP WITH TIME ZONE '2026-11-20 12:34:56.5+02:00'": "2026-11-20T10:34:56.5Z",
		"[1, 2, NULL]":                                           "[1,2,null]",
		"CAST(NULL AS INTEGER)":                                  array.NullValueStr,
	}
	for sql, expected := range values {
		found := query(t, ctx, client, "SELECT "+sql+" AS a", "a")
		if !slices.Equal(found, []string{expected}) {
			t.Errorf("%s is %v, not %q", sql, found, expected)
		}
	}
}

func TestAMillionRowsAreStreamed(t *testing.T) {
	ctx, client := connect(t)
	info, err := client.Execute(ctx, "SELECT value AS a, 'text of row ' || value AS b FROM generate_series(1, 1000000) AS g (value)")
	check(t, err)
	var rows, sum int64
	read(t, ctx, client, info, func(batch arrow.RecordBatch) {
		rows += batch.NumRows()
		for _, value := range batch.Column(0).(*array.Int64).Int64Values() {
			sum += value
		}
	})
	same(t, 1_000_000, rows)
	same(t, 500_000_500_000, sum)
}

func TestUpdatesTellHowManyRowsTheyChanged(t *testing.T) {
	ctx, client := connect(t)
	same(t, 0, update(t, ctx, client, "CREATE OR REPLACE TABLE go_counted (a BIGINT)"))
	same(t, 3, update(t, ctx, client, "INSERT INTO go_counted VALUES (1), (2), (3)"))
	same(t, 2, update(t, ctx, client, "DELETE FROM go_counted WHERE a > 1"))
}

func record(names []string, columns ...arrow.Array) arrow.RecordBatch {
	fields := make([]arrow.Field, len(columns))
	for at, column := range columns {
		fields[at] = arrow.Field{Name: names[at], Type: column.DataType(), Nullable: true}
	}
	return array.NewRecordBatch(arrow.NewSchema(fields, nil), columns, int64(columns[0].Len()))
}

func numbers(values ...int64) arrow.Array {
	builder := array.NewInt64Builder(memory.DefaultAllocator)
	builder.AppendValues(values, nil)
	return builder.NewArray()
}

func words(values ...string) arrow.Array {
	builder := array.NewStringBuilder(memory.DefaultAllocator)
	builder.AppendValues(values, nil)
	return builder.NewArray()
}

func TestAPreparedQueryTakesParameters(t *testing.T) {
	ctx, client := connect(t)
	prepared, err := client.Prepare(ctx, "SELECT value FROM generate_series(1, 100) AS g (value) WHERE value > ? AND 'x' = ? ORDER BY 1 LIMIT ?")
	check(t, err)
	defer func() { check(t, prepared.Close(ctx)) }()
	same(t, 3, prepared.ParameterSchema().NumFields())
	same(t, arrow.INT64, prepared.ParameterSchema().Field(2).Type.ID())
	same(t, 1, prepared.DatasetSchema().NumFields())
	for _, above := range []int64{10, 50} {
		prepared.SetParameters(record([]string{"1", "2", "3"}, numbers(above), words("x"), numbers(1)))
		info, err := prepared.Execute(ctx)
		check(t, err)
		read(t, ctx, client, info, func(batch arrow.RecordBatch) {
			if batch.NumRows() > 0 {
				same(t, above+1, batch.Column(0).(*array.Int64).Value(0))
			}
		})
	}
}

func TestAPreparedInsertTakesARowEach(t *testing.T) {
	ctx, client := connect(t)
	update(t, ctx, client, "CREATE OR REPLACE TABLE go_prepared (a BIGINT, b VARCHAR)")
	prepared, err := client.Prepare(ctx, "INSERT INTO go_prepared VALUES ($1, $2)")
	check(t, err)
	defer func() { check(t, prepared.Close(ctx)) }()
	prepared.SetParameters(record([]string{"1", "2"}, numbers(1, 2, 3), words("x", "y", "z")))
	rows, err := prepared.ExecuteUpdate(ctx)
	check(t, err)
	same(t, 3, rows)
	same(t, "x,y,z", strings.Join(query(t, ctx, client, "SELECT b FROM go_prepared ORDER BY a", "b"), ","))
}

func TestRowsAreIngested(t *testing.T) {
	ctx, client := connect(t)
	update(t, ctx, client, "DROP TABLE IF EXISTS go_ingested")
	batch := record([]string{"a", "b"}, numbers(1, 2), words("one", "two"))
	ingest := func(exists flightsql.TableDefinitionOptionsTableExistsOption) (int64, error) {
		rows, err := array.NewRecordReader(batch.Schema(), []arrow.RecordBatch{batch, batch})
		check(t, err)
		defer rows.Release()
		return client.ExecuteIngest(ctx, rows, &flightsql.ExecuteIngestOpts{
			Table: "go_ingested",
			TableDefinitionOptions: &flightsql.TableDefinitionOptions{
				IfNotExist: flightsql.TableDefinitionOptionsTableNotExistOptionCreate,
				IfExists:   exists,
			},
		})
	}
	for _, step := range []struct {
		exists flightsql.TableDefinitionOptionsTableExistsOption
		after  string
	}{
		{flightsql.TableDefinitionOptionsTableExistsOptionFail, "4"},
		{flightsql.TableDefinitionOptionsTableExistsOptionAppend, "8"},
		{flightsql.TableDefinitionOptionsTableExistsOptionReplace, "4"},
	} {
		rows, err := ingest(step.exists)
		check(t, err)
		same(t, 4, rows)
		same(t, step.after, query(t, ctx, client, "SELECT count(*) AS n FROM go_ingested", "n")[0])
	}
	_, err := ingest(flightsql.TableDefinitionOptionsTableExistsOptionFail)
	same(t, codes.AlreadyExists, status.Code(err))
}

func TestATransactionCommitsOrRollsBack(t *testing.T) {
	ctx, client := connect(t)
	update(t, ctx, client, "CREATE OR REPLACE TABLE go_kept (a BIGINT)")
	count := func() string { return query(t, ctx, client, "SELECT count(*) AS n FROM go_kept", "n")[0] }
	begun := func() *flightsql.Txn {
		transaction, err := client.BeginTransaction(ctx)
		check(t, err)
		_, err = transaction.ExecuteUpdate(ctx, "INSERT INTO go_kept VALUES (1)")
		check(t, err)
		same(t, "0", count())
		return transaction
	}
	check(t, begun().Rollback(ctx))
	same(t, "0", count())
	transaction := begun()
	savepoint, err := transaction.BeginSavepoint(ctx, "before")
	check(t, err)
	_, err = transaction.ExecuteUpdate(ctx, "INSERT INTO go_kept VALUES (2)")
	check(t, err)
	check(t, transaction.RollbackSavepoint(ctx, savepoint))
	check(t, transaction.Commit(ctx))
	same(t, "1", count())
}

func TestAMistakeIsAnErrorThatSaysWhat(t *testing.T) {
	ctx, client := connect(t)
	_, err := client.Execute(ctx, "SELECT nope FROM (SELECT 1 AS yes)")
	same(t, codes.InvalidArgument, status.Code(err))
	if !strings.Contains(err.Error(), "nope") || !strings.Contains(err.Error(), "line 1") {
		t.Fatal(err)
	}
	same(t, "1", query(t, ctx, client, "SELECT 1 AS a", "a")[0])
}

func TestAResultIsLeftBeforeItsEnd(t *testing.T) {
	ctx, client := connect(t)
	info, err := client.Execute(ctx, "SELECT value FROM generate_series(1, 1000000000000) AS g (value)")
	check(t, err)
	reading, stop := context.WithCancel(ctx)
	reader, err := client.DoGet(reading, info.Endpoint[0].Ticket)
	check(t, err)
	if !reader.Next() {
		t.Fatal("there are no rows:", reader.Err())
	}
	stop()
	for reader.Next() {
	}
	if !errors.Is(reader.Err(), context.Canceled) && status.Code(reader.Err()) != codes.Canceled {
		t.Fatal("it ended with", reader.Err())
	}
	reader.Release()
	same(t, "1", query(t, ctx, client, "SELECT 1 AS a", "a")[0])
}
