import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** DatabaseMetaData: what BI tools and shells ask when they connect. */
final class Metadata extends Check {
  private final DatabaseMetaData metadata = connection.getMetaData();

  Metadata() throws SQLException {
    execute("CREATE SCHEMA IF NOT EXISTS shop");
    execute("CREATE TABLE IF NOT EXISTS shop.orders (id BIGINT, line INTEGER, item VARCHAR NOT NULL, price DECIMAL(12, 2), at TIMESTAMP, "
        + "noted TIMESTAMP WITH TIME ZONE, paid BOOLEAN, tags VARCHAR[], PRIMARY KEY (line, id))");
    execute("CREATE OR REPLACE VIEW shop.dear AS SELECT id, price FROM shop.orders WHERE price > 100");
  }

  public void catalogsAndSchemas() throws Exception {
    same(List.of("quiver"), column(metadata.getCatalogs(), "TABLE_CAT"));
    List<Object> schemas = column(metadata.getSchemas(), "TABLE_SCHEM");
    isTrue(schemas.containsAll(List.of("main", "shop", "system", "information_schema")), "schemas are " + schemas);
    same(List.of("shop"), column(metadata.getSchemas("quiver", "sh%"), "TABLE_SCHEM"));
    same(List.of(), column(metadata.getSchemas("nowhere", null), "TABLE_SCHEM"));
  }

  public void tablesWithTheirTypes() throws Exception {
    Map<Object, Object> types = new HashMap<>();
    try (ResultSet tables = metadata.getTables(null, "shop", "%", null)) {
      while (tables.next()) {
        same("quiver", tables.getString("TABLE_CAT"));
        types.put(tables.getString("TABLE_NAME"), tables.getString("TABLE_TYPE"));
      }
    }
    same(Map.of("orders", "TABLE", "dear", "VIEW"), types);
    same(List.of("dear"), column(metadata.getTables("quiver", "shop", null, new String[] {"VIEW"}), "TABLE_NAME"));
    same(List.of("orders"), column(metadata.getTables(null, null, "order_", new String[] {"TABLE", "VIEW"}), "TABLE_NAME"));
    isTrue(column(metadata.getTableTypes(), "TABLE_TYPE").containsAll(List.of("TABLE", "VIEW", "SYSTEM TABLE")), "types are missing");
  }

  public void columnsWithTypesSizesAndNullability() throws Exception {
    List<List<Object>> found = new ArrayList<>();
    try (ResultSet columns = metadata.getColumns("quiver", "shop", "orders", "%")) {
      while (columns.next()) {
        found.add(List.of(columns.getString("COLUMN_NAME"), columns.getInt("DATA_TYPE"), columns.getString("TYPE_NAME"),
            columns.getInt("ORDINAL_POSITION"), columns.getInt("NULLABLE"), columns.getString("IS_NULLABLE")));
      }
    }
    same(
        List.of(
            List.of("id", Types.BIGINT, "BIGINT", 1, DatabaseMetaData.columnNoNulls, "NO"),
            List.of("line", Types.INTEGER, "INTEGER", 2, DatabaseMetaData.columnNoNulls, "NO"),
            List.of("item", Types.VARCHAR, "VARCHAR", 3, DatabaseMetaData.columnNoNulls, "NO"),
            List.of("price", Types.DECIMAL, "DECIMAL", 4, DatabaseMetaData.columnNullable, "YES"),
            List.of("at", Types.TIMESTAMP, "TIMESTAMP", 5, DatabaseMetaData.columnNullable, "YES"),
            List.of("noted", Types.TIMESTAMP_WITH_TIMEZONE, "TIMESTAMP WITH TIME ZONE", 6, DatabaseMetaData.columnNullable, "YES"),
            List.of("paid", Types.BOOLEAN, "BOOLEAN", 7, DatabaseMetaData.columnNullable, "YES"),
            List.of("tags", Types.ARRAY, "VARCHAR[]", 8, DatabaseMetaData.columnNullable, "YES")),
        found);
    try (ResultSet price = metadata.getColumns(null, "shop", "orders", "pr%")) {
      isTrue(price.next(), "there is no price");
      same(12, price.getInt("COLUMN_SIZE"));
      same(2, price.getInt("DECIMAL_DIGITS"));
      isTrue(!price.next(), "there is a second column");
    }
    same(List.of("id", "price"), column(metadata.getColumns(null, "shop", "dear", null), "COLUMN_NAME"));
  }

  /** JDBC has no unsigned integers, and their values come in the next type that has them all. */
  public void columnsHaveTheTypesOfTheirValues() throws Exception {
    execute("CREATE SCHEMA IF NOT EXISTS unsigned");
    execute("CREATE OR REPLACE TABLE unsigned.counts (a TINYINT UNSIGNED, b SMALLINT UNSIGNED, c INTEGER UNSIGNED, d BIGINT UNSIGNED)");
    execute("INSERT INTO unsigned.counts VALUES (1, 2, 3, 4)");
    List<Object> listed = new ArrayList<>();
    List<Object> names = new ArrayList<>();
    try (ResultSet columns = metadata.getColumns(null, "unsigned", "counts", "%")) {
      while (columns.next()) {
        listed.add(columns.getInt("DATA_TYPE"));
        names.add(columns.getString("TYPE_NAME"));
      }
    }
    List<Object> results = new ArrayList<>();
    try (var statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT * FROM unsigned.counts")) {
      for (int column = 1; column <= rows.getMetaData().getColumnCount(); column++) {
        results.add(rows.getMetaData().getColumnType(column));
      }
    }
    same(results, listed);
    same(List.of("SMALLINT", "INTEGER", "BIGINT", "DECIMAL"), names);
  }

  public void primaryKeysInTheirOwnOrder() throws Exception {
    List<List<Object>> keys = new ArrayList<>();
    try (ResultSet result = metadata.getPrimaryKeys(null, "shop", "orders")) {
      while (result.next()) {
        keys.add(List.of(result.getString("COLUMN_NAME"), result.getInt("KEY_SEQ"), result.getString("PK_NAME")));
      }
    }
    // JDBC orders them by name.
    keys.sort((one, other) -> one.get(0).toString().compareTo(other.get(0).toString()));
    same(List.of(List.of("id", 2, "orders_pkey"), List.of("line", 1, "orders_pkey")), keys);
    same(List.of(), column(metadata.getPrimaryKeys(null, "shop", "dear"), "COLUMN_NAME"));
  }

  public void thereAreNoForeignKeys() throws Exception {
    same(List.of(), rows(metadata.getImportedKeys(null, "shop", "orders")));
    same(List.of(), rows(metadata.getExportedKeys(null, "shop", "orders")));
    same(List.of(), rows(metadata.getCrossReference(null, "shop", "orders", null, "shop", "orders")));
  }

  /** As shells send a name without quotes, and as Grafana's plugin names the types of tables. */
  public void namesAndTypesAreFoundInAnotherCase() throws Exception {
    same(List.of("shop"), column(metadata.getSchemas("QUIVER", "SHOP"), "TABLE_SCHEM"));
    same(List.of("orders"), column(metadata.getTables(null, "SHOP", "%", new String[] {"BASE TABLE", "table"}), "TABLE_NAME"));
    same(List.of("id", "price"), column(metadata.getColumns(null, null, "DEAR", "%"), "COLUMN_NAME"));
    same(2, rows(metadata.getPrimaryKeys(null, "SHOP", "ORDERS")).size());
    execute("CREATE OR REPLACE TABLE shop.\"Orders\" (a BIGINT)");
    same(List.of("Orders"), column(metadata.getTables(null, "shop", "Orders", null), "TABLE_NAME"));
    execute("DROP TABLE shop.\"Orders\"");
  }

  public void theServerSaysWhatItCanDo() throws Exception {
    same("Quiver", metadata.getDatabaseProductName());
    isTrue(!metadata.getDatabaseProductVersion().isEmpty(), "there is no version");
    same("\"", metadata.getIdentifierQuoteString());
    same(true, metadata.supportsGroupBy());
    same(true, metadata.supportsFullOuterJoins());
    same(true, metadata.supportsUnion());
    same(true, metadata.supportsTransactions());
    same(false, metadata.isReadOnly());
    isTrue(metadata.getSQLKeywords().length() > 0, "there are no keywords");
    isTrue(metadata.getNumericFunctions().contains("ABS"), "there is no ABS");
    isTrue(metadata.getStringFunctions().contains("UPPER"), "there is no UPPER");
  }

  /** Everything a tool may ask: each answer comes, whatever it is, or the driver says that it cannot. */
  public void everyQuestionHasAnAnswer() throws Exception {
    List<String> wrong = new ArrayList<>();
    int asked = 0;
    for (var method : DatabaseMetaData.class.getMethods()) {
      if (method.getParameterCount() > 0) {
        continue;
      }
      try {
        asked++;
        Object answer = method.invoke(metadata);
        if (answer instanceof ResultSet result) {
          rows(result);
        }
      } catch (java.lang.reflect.InvocationTargetException error) {
        wrong.add(method.getName() + ": " + error.getCause());
      }
    }
    isTrue(asked > 100, "only " + asked + " were asked");
    same(List.of(), wrong);
  }
}
