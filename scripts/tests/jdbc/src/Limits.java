import java.math.BigDecimal;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.util.List;

/** What the driver cannot do: when one of these fails, docs/clients.md says too little of a newer one. */
final class Limits extends Check {
  Limits() throws SQLException {}

  private interface Setter {
    void set(PreparedStatement statement) throws Exception;
  }

  private String refused(String sql, Setter setter) throws Exception {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      return fails(() -> {
        setter.set(statement);
        statement.execute();
      }).getMessage();
    }
  }

  public void fractionsAreCutOffInParametersOfWholeNumbers() throws Exception {
    execute("CREATE OR REPLACE TABLE whole_numbers (a BIGINT)");
    List<Setter> setters = List.of(s -> s.setDouble(1, 1.99), s -> s.setFloat(1, 1.99f), s -> s.setBigDecimal(1, new BigDecimal("1.99")),
        s -> s.setObject(1, 1.99));
    for (Setter setter : setters) {
      try (PreparedStatement insert = connection.prepareStatement("INSERT INTO whole_numbers VALUES (?)")) {
        setter.set(insert);
        same(1, insert.executeUpdate());
      }
    }
    same(List.of(List.of(1L, 4L)), rows("SELECT a, count(*) FROM whole_numbers GROUP BY a"));
  }

  public void classesOfJavaTimeAreReadAndNotBound() throws Exception {
    execute("CREATE OR REPLACE TABLE times (day DATE, wall TIMESTAMP, moment TIMESTAMP WITH TIME ZONE)");
    for (Object value : List.of(LocalDate.now(), LocalDateTime.now(), OffsetDateTime.now(), Instant.now())) {
      for (String column : List.of("day", "wall", "moment")) {
        String said = refused("INSERT INTO times (" + column + ") VALUES (?)", insert -> insert.setObject(1, value));
        isTrue(said.contains("Binding value of type OBJECT is not yet supported"), said);
      }
    }
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO times (wall) VALUES (CAST(CAST(? AS VARCHAR) AS TIMESTAMP))")) {
      insert.setString(1, "2026-07-01T01:02:03.456789");
      same(1, insert.executeUpdate());
    }
    LocalDateTime wall = LocalDateTime.of(2026, 7, 1, 1, 2, 3, 456_789_000);
    same(wall, first("SELECT wall FROM times", row -> row.getObject(1, LocalDateTime.class)));
  }

  public void aParameterWithoutATypeTakesTextAlone() throws Exception {
    String said = refused("SELECT ?", query -> query.setLong(1, 1));
    isTrue(said.contains("Binding value of type LONG is not yet supported for expected Arrow type Utf8"), said);
    try (PreparedStatement query = connection.prepareStatement("SELECT CAST(? AS BIGINT)")) {
      query.setLong(1, 1);
      same(1L, one(query, row -> row.getLong(1)));
    }
  }

  public void aParameterThatWasNotSetIsNotNamed() throws Exception {
    String said = refused("SELECT CAST(? AS BIGINT)", query -> {});
    isTrue(said.contains("\"typedValue\" is null"), said);
  }

  public void intervalsAreBoundAsTextAlone() throws Exception {
    execute("CREATE OR REPLACE TABLE spans (a INTERVAL)");
    String said = refused("INSERT INTO spans VALUES (?)", insert -> insert.setString(1, "1 day"));
    isTrue(said.contains("IntervalMonthDayNanoVector is not yet supported"), said);
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO spans VALUES (CAST(CAST(? AS VARCHAR) AS INTERVAL))")) {
      insert.setString(1, "1 month 2 days");
      same(1, insert.executeUpdate());
    }
    same("P1M2D PT0S", first("SELECT a FROM spans", row -> row.getObject(1).toString()));
  }

  /** Shells trust in it, and look for a name without quotes in upper case. */
  public void namesAreSaidToBeInUpperCase() throws Exception {
    same(true, connection.getMetaData().storesUpperCaseIdentifiers());
  }

  /** The driver answers by itself, with nothing, and does not ask the server. */
  public void typesFunctionsAndIndexesAreNotAskedFor() throws Exception {
    var metadata = connection.getMetaData();
    same(List.of(), rows(metadata.getTypeInfo()));
    same(List.of(), rows(metadata.getFunctions(null, null, "%")));
    same(List.of(), rows(metadata.getProcedures(null, null, "%")));
    same(List.of(), rows(metadata.getIndexInfo(null, null, "%", false, true)));
    same(List.of(), rows(metadata.getBestRowIdentifier(null, null, "%", DatabaseMetaData.bestRowSession, true)));
  }
}
