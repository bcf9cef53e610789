package clients

import (
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
)

func pointer[T any](value T) *T { return &value }

func TestCatalogsSchemasAndTypesOfTables(t *testing.T) {
	ctx, client := connect(t)
	catalogs, err := client.GetCatalogs(ctx)
	check(t, err)
	if found := texts(t, ctx, client, catalogs, "catalog_name"); !slices.Equal(found, []string{"quiver"}) {
		t.Fatal(found)
	}
	schemas, err := client.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{DbSchemaFilterPattern: pointer("ma%")})
	check(t, err)
	if found := texts(t, ctx, client, schemas, "db_schema_name"); !slices.Equal(found, []string{"main"}) {
		t.Fatal(found)
	}
	types, err := client.GetTableTypes(ctx)
	check(t, err)
	if found := texts(t, ctx, client, types, "table_type"); !slices.Contains(found, "TABLE") || !slices.Contains(found, "VIEW") {
		t.Fatal(found)
	}
}

func TestTablesWithTheirSchemas(t *testing.T) {
	ctx, client := connect(t)
	update(t, ctx, client, "CREATE OR REPLACE TABLE go_listed (a BIGINT PRIMARY KEY, b DECIMAL(12, 2))")
	info, err := client.GetTables(ctx, &flightsql.GetTablesOpts{TableNameFilterPattern: pointer("go_list%"), IncludeSchema: true})
	check(t, err)
	found := 0
	read(t, ctx, client, info, func(batch arrow.RecordBatch) {
		for row := range int(batch.NumRows()) {
			found++
			bytes := batch.Column(batch.Schema().FieldIndices("table_schema")[0]).(*array.Binary).Value(row)
			schema, err := flight.DeserializeSchema(bytes, client.Alloc)
			check(t, err)
			same(t, 2, schema.NumFields())
			same(t, false, schema.Field(0).Nullable)
			told := schema.Field(1).Metadata
			facts := flightsql.ColumnMetadata{Data: &told}
			precision, _ := facts.Precision()
			scale, _ := facts.Scale()
			same(t, 12, precision)
			same(t, 2, scale)
		}
	})
	same(t, 1, found)
}

func TestKeys(t *testing.T) {
	ctx, client := connect(t)
	update(t, ctx, client, "CREATE OR REPLACE TABLE go_keyed (a BIGINT, b BIGINT, PRIMARY KEY (b, a))")
	table := flightsql.TableRef{Table: "go_keyed"}
	keys, err := client.GetPrimaryKeys(ctx, table)
	check(t, err)
	found := texts(t, ctx, client, keys, "column_name")
	slices.Sort(found)
	if !slices.Equal(found, []string{"a", "b"}) {
		t.Fatal(found)
	}
	for name, ask := range map[string]func() (*flight.FlightInfo, error){
		"exported": func() (*flight.FlightInfo, error) { return client.GetExportedKeys(ctx, table) },
		"imported": func() (*flight.FlightInfo, error) { return client.GetImportedKeys(ctx, table) },
		"crossed":  func() (*flight.FlightInfo, error) { return client.GetCrossReference(ctx, table, table) },
	} {
		info, err := ask()
		check(t, err)
		if found := texts(t, ctx, client, info, "fk_column_name"); len(found) != 0 {
			t.Fatal(name, found)
		}
	}
}

func TestTypesAndAbilities(t *testing.T) {
	ctx, client := connect(t)
	all, err := client.GetXdbcTypeInfo(ctx, nil)
	check(t, err)
	names := texts(t, ctx, client, all, "type_name")
	for _, name := range []string{"BIGINT", "DECIMAL", "VARCHAR", "TIMESTAMP"} {
		if !slices.Contains(names, name) {
			t.Fatal(name, "is not among", names)
		}
	}
	one, err := client.GetXdbcTypeInfo(ctx, pointer(int32(-5)))
	check(t, err)
	if found := texts(t, ctx, client, one, "type_name"); !slices.Contains(found, "BIGINT") || slices.Contains(found, "VARCHAR") {
		t.Fatal(found)
	}
	info, err := client.GetSqlInfo(ctx, []flightsql.SqlInfo{flightsql.SqlInfoFlightSqlServerName, flightsql.SqlInfoFlightSqlServerVersion})
	check(t, err)
	if found := texts(t, ctx, client, info, "info_name"); !slices.Equal(found, []string{"0", "1"}) {
		t.Fatal(found)
	}
	everything, err := client.GetSqlInfo(ctx, nil)
	check(t, err)
	if found := texts(t, ctx, client, everything, "info_name"); len(found) < 80 {
		t.Fatal("only", len(found))
	}
}
