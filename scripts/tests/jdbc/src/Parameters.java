import java.math.BigDecimal;
import java.sql.Date;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Time;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.Instant;
import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.List;

/** Prepared SELECT and INSERT with parameters of every type that the driver can bind. */
final class Parameters extends Check {
  private static final List<String> COLUMNS = List.of("b BOOLEAN", "i8 TINYINT", "i16 SMALLINT", "i32 INTEGER", "i64 BIGINT",
      "u8 TINYINT UNSIGNED", "u16 SMALLINT UNSIGNED", "u32 INTEGER UNSIGNED", "u64 BIGINT UNSIGNED", "f REAL", "d DOUBLE",
      "n DECIMAL(20, 3)", "w DECIMAL(50, 3)", "t VARCHAR", "y BYTEA", "day DATE", "at TIME", "wall TIMESTAMP",
      "moment TIMESTAMP WITH TIME ZONE", "span INTERVAL", "numbers BIGINT[]", "texts VARCHAR[]");

  Parameters() throws SQLException {}

  private interface Setter {
    void set(PreparedStatement statement) throws Exception;
  }

  /** The row whose column equals the parameter, which a prepared INSERT has written. */
  private <T> void comesBack(String type, T value, Setter setter, Getter<T> getter) throws Exception {
    execute("CREATE OR REPLACE TABLE parameter (a " + type + ")");
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO parameter VALUES (?)")) {
      setter.set(insert);
      same(1, insert.executeUpdate());
    }
    same(value, first("SELECT a FROM parameter", getter));
    try (PreparedStatement query = connection.prepareStatement("SELECT a FROM parameter WHERE a = ?")) {
      setter.set(query);
      same(value, one(query, getter));
    }
  }

  public void booleans() throws Exception {
    comesBack("BOOLEAN", true, s -> s.setBoolean(1, true), row -> row.getBoolean(1));
    comesBack("BOOLEAN", false, s -> s.setObject(1, false), row -> row.getBoolean(1));
  }

  public void integers() throws Exception {
    comesBack("TINYINT", (byte) -128, s -> s.setByte(1, (byte) -128), row -> row.getByte(1));
    comesBack("SMALLINT", (short) -32768, s -> s.setShort(1, (short) -32768), row -> row.getShort(1));
    comesBack("INTEGER", Integer.MIN_VALUE, s -> s.setInt(1, Integer.MIN_VALUE), row -> row.getInt(1));
    comesBack("BIGINT", Long.MAX_VALUE, s -> s.setLong(1, Long.MAX_VALUE), row -> row.getLong(1));
    comesBack("BIGINT", 7L, s -> s.setInt(1, 7), row -> row.getLong(1));
  }

  public void unsignedIntegers() throws Exception {
    comesBack("TINYINT UNSIGNED", 255, s -> s.setInt(1, 255), row -> row.getInt(1));
    comesBack("SMALLINT UNSIGNED", 65535, s -> s.setInt(1, 65535), row -> row.getInt(1));
    comesBack("INTEGER UNSIGNED", 4294967295L, s -> s.setLong(1, 4294967295L), row -> row.getLong(1));
    comesBack("BIGINT UNSIGNED", Long.MAX_VALUE, s -> s.setLong(1, Long.MAX_VALUE), row -> row.getLong(1));
    BigDecimal most = new BigDecimal("18446744073709551615");
    comesBack("BIGINT UNSIGNED", most, s -> s.setBigDecimal(1, most), row -> row.getBigDecimal(1));
    comesBack("BIGINT UNSIGNED", most, s -> s.setObject(1, most), row -> row.getBigDecimal(1));
  }

  public void lists() throws Exception {
    List<String> numbers = Arrays.asList("1", "2", null);
    comesBack("BIGINT[]", numbers, s -> s.setArray(1, connection.createArrayOf("BIGINT", new Object[] {1L, 2L, null})), Parameters::elements);
    comesBack("BIGINT[]", List.of("7"), s -> s.setObject(1, List.of(7L)), Parameters::elements);
    List<String> texts = Arrays.asList("a", "", null);
    comesBack("VARCHAR[]", texts, s -> s.setArray(1, connection.createArrayOf("VARCHAR", texts.toArray())), Parameters::elements);
  }

  /** Texts in lists are of a class of the driver's own. */
  private static List<String> elements(ResultSet row) throws Exception {
    return Arrays.stream((Object[]) row.getArray(1).getArray()).map(element -> element == null ? null : element.toString()).toList();
  }

  public void floats() throws Exception {
    comesBack("REAL", 1.5f, s -> s.setFloat(1, 1.5f), row -> row.getFloat(1));
    comesBack("DOUBLE", 0.1, s -> s.setDouble(1, 0.1), row -> row.getDouble(1));
  }

  public void decimals() throws Exception {
    BigDecimal small = new BigDecimal("-12345678901234567.890");
    comesBack("DECIMAL(20, 3)", small, s -> s.setBigDecimal(1, small), row -> row.getBigDecimal(1));
    // Of more than 38 digits the driver binds none.
    BigDecimal wide = new BigDecimal("12345678901234567890123456789012345.125");
    comesBack("DECIMAL(50, 3)", wide, s -> s.setBigDecimal(1, wide), row -> row.getBigDecimal(1));
  }

  public void textsAndBytes() throws Exception {
    comesBack("VARCHAR", "it's 世界 🦀", s -> s.setString(1, "it's 世界 🦀"), row -> row.getString(1));
    comesBack("VARCHAR", "", s -> s.setString(1, ""), row -> row.getString(1));
    byte[] bytes = {0, (byte) 0xff, 7};
    comesBack("BYTEA", bytes, s -> s.setBytes(1, bytes), row -> row.getBytes(1));
  }

  public void datesAndTimes() throws Exception {
    Date day = Date.valueOf("2026-11-20");
    comesBack("DATE", day, s -> s.setDate(1, day), row -> row.getDate(1));
    comesBack("TIME", "12:34:56", s -> s.setTime(1, Time.valueOf("12:34:56")), row -> text(row, "TIME"));
  }

  public void timestampsWithoutAZone() throws Exception {
    LocalDateTime wall = LocalDateTime.of(2026, 7, 1, 12, 34, 56, 123_000_000);
    comesBack("TIMESTAMP", wall, s -> s.setTimestamp(1, Timestamp.valueOf(wall)), row -> row.getObject(1, LocalDateTime.class));
  }

  /** The driver sends the time on the wall of the JVM's zone as if it were UTC; in UTC it is right, see Utc. */
  public void timestampsWithAZoneAreThoseOfTheWall() throws Exception {
    Timestamp wall = Timestamp.valueOf("2026-07-01 12:34:56.123");
    comesBack("TIMESTAMP WITH TIME ZONE", Instant.parse("2026-07-01T12:34:56.123Z"), s -> s.setTimestamp(1, wall),
        row -> row.getObject(1, Instant.class));
  }

  /** What the server has, where the driver's getter is wrong outside of UTC. */
  private String text(ResultSet row, String type) throws Exception {
    return first("SELECT CAST(a AS VARCHAR) FROM parameter", text -> text.getString(1));
  }

  public void nullsOfEveryType() throws Exception {
    execute("CREATE OR REPLACE TABLE nothing (" + String.join(", ", COLUMNS) + ")");
    String marks = String.join(", ", COLUMNS.stream().map(column -> "?").toList());
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO nothing VALUES (" + marks + ")")) {
      for (int parameter = 1; parameter <= COLUMNS.size(); parameter++) {
        insert.setNull(parameter, Types.NULL);
      }
      same(1, insert.executeUpdate());
    }
    String all = String.join(" AND ", COLUMNS.stream().map(column -> column.split(" ")[0] + " IS NULL").toList());
    same(List.of(List.of(1L)), rows("SELECT count(*) FROM nothing WHERE " + all));
  }

  public void parametersAreDescribed() throws Exception {
    execute("CREATE OR REPLACE TABLE described (" + String.join(", ", COLUMNS) + ")");
    try (PreparedStatement query = connection.prepareStatement("SELECT i32 FROM described WHERE i64 = ? AND t = ? AND day < ? AND n > ?")) {
      ParameterMetaData parameters = query.getParameterMetaData();
      same(4, parameters.getParameterCount());
      List<Integer> types = List.of(parameters.getParameterType(1), parameters.getParameterType(2), parameters.getParameterType(3),
          parameters.getParameterType(4));
      same(List.of(Types.BIGINT, Types.VARCHAR, Types.DATE, Types.DECIMAL), types);
      same("i32", query.getMetaData().getColumnName(1));
    }
  }

  public void aStatementRunsAgainWithOtherValues() throws Exception {
    try (PreparedStatement query = connection.prepareStatement("SELECT value * 10 FROM generate_series(1, 100) AS g (value) WHERE value = ?")) {
      for (long value : new long[] {1, 50, 100}) {
        query.setLong(1, value);
        same(value * 10, one(query, row -> row.getLong(1)));
      }
    }
  }

  public void parametersStandWhereTheyAreNumbered() throws Exception {
    try (PreparedStatement query = connection.prepareStatement("SELECT CAST($2 AS VARCHAR) || $1 || $2")) {
      query.setString(1, "a");
      query.setString(2, "b");
      same("bab", one(query, row -> row.getString(1)));
    }
  }

  public void aParameterWithoutATypeOfItsOwn() throws Exception {
    try (PreparedStatement query = connection.prepareStatement("SELECT ? AS a")) {
      query.setString(1, "x");
      same("x", one(query, row -> row.getString(1)));
    }
  }

  public void aLimitIsAParameter() throws Exception {
    try (PreparedStatement query = connection.prepareStatement("SELECT value FROM generate_series(1, 100) AS g (value) ORDER BY 1 LIMIT ? OFFSET ?")) {
      query.setLong(1, 2);
      query.setLong(2, 10);
      same(List.of(List.of(11L), List.of(12L)), rows(query.executeQuery()));
    }
  }

  public void aListOfParameters() throws Exception {
    try (PreparedStatement query = connection.prepareStatement("SELECT value FROM generate_series(1, 9) AS g (value) WHERE value IN (?, ?, ?) ORDER BY 1")) {
      for (int parameter = 1; parameter <= 3; parameter++) {
        query.setLong(parameter, parameter * 3L);
      }
      same(List.of(3L, 6L, 9L), rows(query.executeQuery()).stream().map(row -> row.get(0)).toList());
    }
  }

  public void updatesAndDeletesTakeParameters() throws Exception {
    execute("CREATE OR REPLACE TABLE changed (a BIGINT, b VARCHAR)");
    execute("INSERT INTO changed VALUES (1, 'one'), (2, 'two'), (3, 'three')");
    try (PreparedStatement update = connection.prepareStatement("UPDATE changed SET b = ? WHERE a >= ?")) {
      update.setString(1, "many");
      update.setLong(2, 2);
      same(2, update.executeUpdate());
    }
    try (PreparedStatement delete = connection.prepareStatement("DELETE FROM changed WHERE b = ?")) {
      delete.setString(1, "many");
      same(2, delete.executeUpdate());
    }
    same(List.of(Arrays.asList(1L, "one")), rows("SELECT * FROM changed"));
  }

  public void columnsOfAPreparedQueryAreKnownBeforeItRuns() throws Exception {
    try (PreparedStatement query = connection.prepareStatement("SELECT 1 AS a, 'x' AS b")) {
      same(2, query.getMetaData().getColumnCount());
      same("b", query.getMetaData().getColumnName(2));
      try (ResultSet result = query.executeQuery()) {
        isTrue(result.next(), "there is no row");
      }
    }
  }
}
