import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.Date;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TimeZone;

/**
 * Results of every type, by the getters that programs use. The JVM is in a zone that is not UTC, which shows where the
 * driver goes wrong: there only the classes of java.time are right about times. In UTC all are; see Utc.
 */
final class Values extends Check {
  Values() throws SQLException {}

  public void integers() throws Exception {
    String sql = "SELECT CAST(-128 AS TINYINT), CAST(-32768 AS SMALLINT), CAST(-2147483648 AS INTEGER), CAST(-9223372036854775808 AS BIGINT)";
    same(List.of((byte) -128, (short) -32768, Integer.MIN_VALUE, Long.MIN_VALUE), rows(sql).get(0));
    same(-128, first(sql, row -> row.getInt(1)));
    same(-32768L, first(sql, row -> row.getLong(2)));
    same("-2147483648", first(sql, row -> row.getString(3)));
    same(new BigDecimal(Long.MIN_VALUE), first(sql, row -> row.getBigDecimal(4)));
    same(-128.0, first(sql, row -> row.getDouble(1)));
  }

  public void unsignedIntegersThatFitTheSignedTypes() throws Exception {
    String sql = "SELECT CAST(127 AS TINYINT UNSIGNED), CAST(65535 AS SMALLINT UNSIGNED), CAST(4294967295 AS INTEGER UNSIGNED), "
        + "CAST(9223372036854775807 AS BIGINT UNSIGNED)";
    same(127, first(sql, row -> row.getInt(1)));
    same(65535, first(sql, row -> row.getInt(2)));
    same(4294967295L, first(sql, row -> row.getLong(3)));
    same(Long.MAX_VALUE, first(sql, row -> row.getLong(4)));
  }

  public void unsignedIntegersBeyond() throws Exception {
    String sql = "SELECT CAST(255 AS TINYINT UNSIGNED), CAST(18446744073709551615 AS BIGINT UNSIGNED)";
    same(255, first(sql, row -> row.getInt(1)));
    same("18446744073709551615", first(sql, row -> row.getString(2)));
    same(new BigDecimal("18446744073709551615"), first(sql, row -> row.getBigDecimal(2)));
  }

  /** A property of the URL that the driver does not know is sent as a header. */
  public void plainTypesAreSentToWhoAsks() throws Exception {
    try (Connection plain = connect("&x-quiver-jdbc-types=false");
        Statement statement = plain.createStatement();
        ResultSet row = statement.executeQuery("SELECT CAST(255 AS TINYINT UNSIGNED)")) {
      isTrue(row.next(), "there is no row");
      same(-1, row.getInt(1));
    }
  }

  public void floats() throws Exception {
    String sql = "SELECT CAST(1.5 AS FLOAT), CAST(0.1 AS DOUBLE), CAST('NaN' AS DOUBLE), CAST('-Infinity' AS DOUBLE)";
    same(1.5f, first(sql, row -> row.getFloat(1)));
    same(0.1, first(sql, row -> row.getDouble(2)));
    same(Double.NaN, first(sql, row -> row.getDouble(3)));
    same(Double.NEGATIVE_INFINITY, first(sql, row -> row.getDouble(4)));
  }

  public void decimals() throws Exception {
    String sql = "SELECT CAST('-12345678901234567.89' AS DECIMAL(19, 2)), CAST('0.5' AS DECIMAL(9, 4)), "
        + "CAST('1234567890123456789012345678901234567890.5' AS DECIMAL(50, 3))";
    same(new BigDecimal("-12345678901234567.89"), first(sql, row -> row.getBigDecimal(1)));
    same(new BigDecimal("0.5000"), first(sql, row -> row.getObject(2)));
    same(new BigDecimal("1234567890123456789012345678901234567890.500"), first(sql, row -> row.getBigDecimal(3)));
  }

  public void booleansAndTexts() throws Exception {
    String sql = "SELECT true, false, 'Grüße, 世界 🦀', '', repeat('ab', 500000)";
    same(true, first(sql, row -> row.getBoolean(1)));
    same(false, first(sql, row -> row.getObject(2)));
    same("Grüße, 世界 🦀", first(sql, row -> row.getString(3)));
    same("", first(sql, row -> row.getString(4)));
    same(1_000_000, first(sql, row -> row.getString(5).length()));
    same("1", first("SELECT 1 AS a", row -> row.getString("a")));
  }

  public void bytes() throws Exception {
    String sql = "SELECT X'00FF10', X''";
    same(new byte[] {0, (byte) 0xff, 0x10}, first(sql, row -> row.getBytes(1)));
    same(new byte[0], first(sql, row -> row.getBytes(2)));
    same(3, first(sql, row -> row.getBinaryStream(1).readAllBytes().length));
  }

  public void dates() throws Exception {
    String sql = "SELECT DATE '2026-11-20', DATE '1582-10-04', DATE '0001-01-01', DATE '1969-12-31'";
    same(Date.valueOf("2026-11-20"), first(sql, row -> row.getDate(1)));
    same(LocalDate.of(2026, 11, 20), first(sql, row -> row.getObject(1, LocalDate.class)));
    same("1969-12-31", first(sql, row -> row.getDate(4).toString()));
  }

  public void times() throws Exception {
    String sql = "SELECT TIME '12:34:56.789', TIME '00:00:00'";
    // From java.sql.Time, which has no fractions: the driver gives whole seconds, moved by the zone of the JVM.
    same(LocalTime.of(12, 34, 56).plusSeconds(zoneSeconds()), first(sql, row -> row.getObject(1, LocalTime.class)));
  }

  /** Of 1970-01-01, to which a java.sql.Time belongs. */
  private static int zoneSeconds() {
    return TimeZone.getDefault().getOffset(0) / 1000;
  }

  public void timestampsWithoutAZoneAreTheTimeOnTheWall() throws Exception {
    isTrue(TimeZone.getDefault().getRawOffset() != 0, "the JVM is in UTC");
    String sql = "SELECT TIMESTAMP '2026-07-01 12:34:56.123456', TIMESTAMP '1969-12-31 23:59:59.5'";
    same(LocalDateTime.of(2026, 7, 1, 12, 34, 56, 123_456_000), first(sql, row -> row.getObject(1, LocalDateTime.class)));
    same(LocalDateTime.of(1969, 12, 31, 23, 59, 59, 500_000_000), first(sql, row -> row.getObject(2, LocalDateTime.class)));
    same(Timestamp.valueOf("2026-07-01 12:34:56.123456"), first(sql, row -> row.getObject(1, Timestamp.class)));
    same("2026-07-01 12:34:56.123456", first(sql, row -> row.getString(1)));
    same(Types.TIMESTAMP, first(sql, row -> row.getMetaData().getColumnType(1)));
  }

  public void timestampsWithAZoneAreInstants() throws Exception {
    String sql = "SELECT TIMESTAMP WITH TIME ZONE '2026-07-01 12:34:56.123456+02:00'";
    Instant instant = Instant.parse("2026-07-01T10:34:56.123456Z");
    same(instant, first(sql, row -> row.getObject(1, OffsetDateTime.class)).toInstant());
    same(instant, first(sql, row -> row.getObject(1, ZonedDateTime.class)).toInstant());
    same(instant, first(sql, row -> row.getObject(1, Instant.class)));
    same(Types.TIMESTAMP_WITH_TIMEZONE, first(sql, row -> row.getMetaData().getColumnType(1)));
  }

  public void intervals() throws Exception {
    same("P1M2D PT3S", first("SELECT INTERVAL '1 month 2 days 3 seconds'", row -> row.getObject(1).toString()));
  }

  public void listsStructsAndMapsAreRead() throws Exception {
    String sql = "SELECT [1, 2, NULL], {'a': 1, 'b': 'x'}, map(['k'], [[1.5e0]]), [{'a': DATE '2026-11-20'}]";
    same(Arrays.asList(1L, 2L, null), first(sql, row -> Arrays.asList((Object[]) row.getArray(1).getArray())));
    same(Map.of("a", 1L, "b", "x"), first(sql, row -> Map.copyOf(struct(row.getObject(2)))));
    isTrue(first(sql, row -> row.getString(3)).contains("1.5"), "the map has no 1.5");
    isTrue(first(sql, row -> row.getObject(4)) != null, "there is no list of structs");
  }

  /** The driver's class for a struct, with text that is none of Java's. */
  private static Map<String, Object> struct(Object value) {
    Map<String, Object> found = new HashMap<>();
    ((Map<?, ?>) value).forEach((name, field) -> found.put(name.toString(), field instanceof Long ? field : field.toString()));
    return found;
  }

  public void nullsOfEveryType() throws Exception {
    List<String> types = List.of("BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "TINYINT UNSIGNED", "BIGINT UNSIGNED", "FLOAT",
        "DOUBLE", "DECIMAL(10, 2)", "DECIMAL(50, 2)", "VARCHAR", "BYTEA", "DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "INTERVAL");
    List<String> wrong = new ArrayList<>();
    for (String type : types) {
      try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery("SELECT CAST(NULL AS " + type + ")")) {
        isTrue(row.next(), "there is no row");
        // 18.3 of the driver has no getObject for them; 18.2 had and 19 has.
        Object value = type.contains("ZONE") ? row.getTimestamp(1) : row.getObject(1);
        if (value != null || !row.wasNull() || row.getString(1) != null) {
          wrong.add(type + " is " + value);
        }
      }
    }
    same(List.of(), wrong);
    same(true, first("SELECT NULL", row -> row.getObject(1) == null && row.wasNull()));
  }

  public void columnsAreDescribed() throws Exception {
    String sql = "SELECT CAST(1 AS DECIMAL(12, 3)) AS money, 'x' AS word, CAST(2 AS SMALLINT UNSIGNED) AS small";
    try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(sql)) {
      ResultSetMetaData columns = result.getMetaData();
      same(3, columns.getColumnCount());
      same("money", columns.getColumnName(1));
      same("word", columns.getColumnLabel(2));
      same(List.of(Types.DECIMAL, Types.VARCHAR, Types.INTEGER), List.of(columns.getColumnType(1), columns.getColumnType(2), columns.getColumnType(3)));
      same(List.of(12, 3), List.of(columns.getPrecision(1), columns.getScale(1)));
      same(2, result.findColumn("word"));
    }
  }
}
