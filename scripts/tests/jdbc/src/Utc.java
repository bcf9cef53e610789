import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Time;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalTime;
import java.util.List;
import java.util.TimeZone;

/** In a JVM whose zone is UTC the getters of java.sql are right about times too, in and out. */
final class Utc extends Check {
  private final TimeZone before = TimeZone.getDefault();

  Utc() throws SQLException {
    TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
  }

  @Override
  public void close() throws SQLException {
    TimeZone.setDefault(before);
    super.close();
  }

  public void timesAndTimestampsComeBack() throws Exception {
    Timestamp wall = Timestamp.valueOf("2026-07-01 12:34:56.123");
    Timestamp moment = Timestamp.from(Instant.parse("1969-12-31T23:59:59.999Z"));
    execute("CREATE OR REPLACE TABLE utc (wall TIMESTAMP, moment TIMESTAMP WITH TIME ZONE, at TIME)");
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO utc VALUES (?, ?, ?)")) {
      insert.setTimestamp(1, wall);
      insert.setTimestamp(2, moment);
      insert.setTime(3, Time.valueOf("12:34:56"));
      same(1, insert.executeUpdate());
    }
    same(wall, first("SELECT wall FROM utc", row -> row.getTimestamp(1)));
    same(moment, first("SELECT moment FROM utc", row -> row.getTimestamp(1)));
    same(LocalTime.of(12, 34, 56), first("SELECT at FROM utc", row -> row.getTime(1).toLocalTime()));
    same(List.of(List.of(1L)), rows("SELECT count(*) FROM utc WHERE wall = TIMESTAMP '2026-07-01 12:34:56.123'"));
    try (PreparedStatement query = connection.prepareStatement("SELECT count(*) FROM utc WHERE moment = ? AND wall BETWEEN ? AND ?")) {
      query.setTimestamp(1, moment);
      query.setTimestamp(2, wall);
      query.setTimestamp(3, wall);
      same(1L, one(query, row -> row.getLong(1)));
    }
  }

  public void fractionsOfASecondAreRead() throws Exception {
    same("12:34:56.789", first("SELECT TIME '12:34:56.789'", row -> row.getString(1)));
    same(Timestamp.valueOf("2026-07-01 12:34:56.123456"), first("SELECT TIMESTAMP '2026-07-01 12:34:56.123456'", row -> row.getTimestamp(1)));
  }
}
