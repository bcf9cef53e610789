"""What ADBC tells of a store: catalogs, schemas, tables, columns; over TLS and as a user."""

import unittest

# As a module: its test cases would otherwise be found here once more.
import test_flight_clients as clients


class Metadata(clients.Secured):
    def setUp(self):
        self.connection = self.adbc()
        self.cursor = self.connection.cursor()
        self.addCleanup(self.cursor.close)

    def rows(self, sql: str) -> list[tuple]:
        self.cursor.execute(sql)
        return self.cursor.fetchall()

    def table(self, name: str, columns: str) -> str:
        self.cursor.execute(f"CREATE TABLE {name} ({columns})")
        return name

    def objects(self, depth: str, **filters: str) -> list[dict]:
        (catalog,) = self.connection.adbc_get_objects(depth=depth, **filters).read_all().to_pylist()
        self.assertEqual(catalog["catalog_name"], "quiver")
        return catalog["catalog_db_schemas"]

    def tables(self, depth: str, **filters: str) -> list[dict]:
        return [table for schema in self.objects(depth, **filters) for table in schema["db_schema_tables"] or []]

    def test_objects_are_listed_to_the_depth_that_was_asked_for(self):
        name = self.table("objects", "a BIGINT")
        self.assertIsNone(self.objects("catalogs"))
        schemas = self.objects("db_schemas")
        self.assertEqual([schema["db_schema_name"] for schema in schemas], ["information_schema", "main", "system"])
        self.assertTrue(all(schema["db_schema_tables"] is None for schema in schemas))
        (table,) = self.tables("tables", db_schema_filter="main", table_name_filter="obj%")
        self.assertEqual(table, {"table_name": name, "table_type": "TABLE", "table_columns": None, "table_constraints": None})
        found = {table["table_name"] for table in self.tables("tables", db_schema_filter="system")}
        self.assertTrue({"queries", "segments"} <= found, found)
        self.assertEqual(self.tables("all", catalog_filter="quiver", db_schema_filter="nowhere%"), [])

    def test_columns_are_listed_with_types_in_their_order(self):
        columns = "a BIGINT PRIMARY KEY, b VARCHAR NOT NULL, c DECIMAL(12, 2), d TIMESTAMP, e VARCHAR[], f DOUBLE, g BOOLEAN, h DATE"
        name = self.table("typed_objects", columns)
        types = ["BIGINT", "VARCHAR", "DECIMAL", "TIMESTAMP", "VARCHAR[]", "DOUBLE", "BOOLEAN", "DATE"]
        # Of XDBC; the driver takes a list for bytes.
        codes = [-5, 12, 3, 93, -3, 6, -7, 91]
        for depth in ["columns", "all"]:
            (table,) = self.tables(depth, table_name_filter=name)
            found = table["table_columns"]
            self.assertEqual([column["column_name"] for column in found], list("abcdefgh"))
            self.assertEqual([column["ordinal_position"] for column in found], list(range(1, 9)))
            self.assertEqual([column["xdbc_type_name"] for column in found], types)
            self.assertEqual([column["xdbc_data_type"] for column in found], codes)
            self.assertEqual({(column["xdbc_scope_schema"], column["xdbc_scope_table"]) for column in found}, {("main", name)})
        (table,) = self.tables("columns", table_name_filter=name, column_name_filter="c%")
        self.assertEqual([(column["column_name"], column["ordinal_position"]) for column in table["table_columns"]], [("c", 3)])

    def test_the_driver_lists_no_keys(self):
        """It does not ask for them: if this fails, docs/clients.md says too little of a newer one."""
        name = self.table("keyed_objects", "a BIGINT PRIMARY KEY")
        (table,) = self.tables("all", table_name_filter=name)
        self.assertEqual(table["table_constraints"], [])
        self.assertEqual([row[-1] for row in self.rows(f"DESCRIBE {name}")], ["PRIMARY KEY"])

    def test_schemas_and_kinds_of_tables_are_told(self):
        name = self.table("told_objects", "a BIGINT, b VARCHAR")
        schema = self.connection.adbc_get_table_schema(name)
        self.assertEqual([(field.name, str(field.type)) for field in schema], [("a", "int64"), ("b", "string")])
        self.assertEqual(set(self.connection.adbc_get_table_types()), {"TABLE", "VIEW", "EXTERNAL TABLE", "SYSTEM TABLE"})
        self.assertEqual(self.connection.adbc_get_info()["vendor_name"], "Quiver")


if __name__ == "__main__":
    unittest.main()
