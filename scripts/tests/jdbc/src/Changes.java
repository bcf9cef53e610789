import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.Arrays;
import java.util.List;

/** Statements that change rows: counts, batches, and what there is of transactions. */
final class Changes extends Check {
  Changes() throws SQLException {}

  public void countsAreThoseOfTheRowsChanged() throws Exception {
    same(0, update("CREATE OR REPLACE TABLE counted (a BIGINT, b VARCHAR)"));
    same(3, update("INSERT INTO counted VALUES (1, 'x'), (2, 'y'), (3, 'z')"));
    same(2, update("UPDATE counted SET b = 'w' WHERE a > 1"));
    same(0, update("DELETE FROM counted WHERE a > 100"));
    same(1, update("DELETE FROM counted WHERE a = 1"));
    try (Statement statement = connection.createStatement()) {
      same(1000L, statement.executeLargeUpdate("INSERT INTO counted SELECT value, 'many' FROM generate_series(1, 1000) AS g (value)"));
    }
    same(List.of(List.of(1002L)), rows("SELECT count(*) FROM counted"));
  }

  public void executeTellsRowsFromCounts() throws Exception {
    execute("CREATE OR REPLACE TABLE told (a BIGINT)");
    try (Statement statement = connection.createStatement()) {
      same(false, statement.execute("INSERT INTO told VALUES (1), (2)"));
      same(2, statement.getUpdateCount());
      same(true, statement.execute("SELECT a FROM told"));
      try (ResultSet result = statement.getResultSet()) {
        isTrue(result.next(), "there is no row");
      }
    }
  }

  public void aWriteRunsOnce() throws Exception {
    execute("CREATE OR REPLACE TABLE once (a BIGINT)");
    execute("INSERT INTO once VALUES (1)");
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO once VALUES (2)")) {
      same(List.of(List.of(1L)), rows("SELECT count(*) FROM once"));
      same(1, insert.executeUpdate());
    }
    same(List.of(List.of(2L)), rows("SELECT count(*) FROM once"));
  }

  public void aBatchOfParametersIsARowEach() throws Exception {
    execute("CREATE OR REPLACE TABLE batched (a BIGINT, b VARCHAR)");
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO batched VALUES (?, ?)")) {
      for (int row = 0; row < 1000; row++) {
        insert.setLong(1, row);
        if (row % 3 == 0) {
          insert.setNull(2, Types.VARCHAR);
        } else {
          insert.setString(2, "row " + row);
        }
        insert.addBatch();
      }
      int[] counts = insert.executeBatch();
      // The driver gives one number: the sum.
      same(1000, Arrays.stream(counts).sum());
    }
    same(List.of(List.of(1000L, 499500L, 666L)), rows("SELECT count(*), CAST(sum(a) AS BIGINT), count(b) FROM batched"));
  }

  public void aBatchWithOneBadRowLeavesNothing() throws Exception {
    execute("CREATE OR REPLACE TABLE whole (a BIGINT PRIMARY KEY)");
    try (PreparedStatement insert = connection.prepareStatement("INSERT INTO whole VALUES (?)")) {
      for (long value : new long[] {1, 2, 2}) {
        insert.setLong(1, value);
        insert.addBatch();
      }
      fails(insert::executeBatch);
    }
    same(List.of(List.of(0L)), rows("SELECT count(*) FROM whole"));
  }

  /** The driver takes the calls and sends nothing: who trusts in rollback has committed. */
  public void theDriverHasNoTransactionsOfItsOwn() throws Exception {
    execute("CREATE OR REPLACE TABLE unsaved (a BIGINT)");
    connection.setAutoCommit(false);
    execute("INSERT INTO unsaved VALUES (1)");
    connection.rollback();
    connection.setAutoCommit(true);
    same(List.of(List.of(1L)), rows("SELECT a FROM unsaved"));
    isTrue(throwsAny(connection::setSavepoint), "there are savepoints");
  }

  private static boolean throwsAny(Action action) {
    try {
      action.run();
      return false;
    } catch (Exception error) {
      return true;
    }
  }

  /** With a catalog in its URL the driver begins a session and keeps its cookie. */
  public void aSessionHasTransactionsInSql() throws Exception {
    execute("CREATE OR REPLACE TABLE kept (a BIGINT)");
    Connection session = connect("&catalog=quiver");
    try (Statement inside = session.createStatement()) {
      for (String sql : List.of("BEGIN", "INSERT INTO kept VALUES (1)", "ROLLBACK", "BEGIN", "INSERT INTO kept VALUES (2)")) {
        inside.execute(sql);
      }
      same(List.of(), rows("SELECT a FROM kept"));
      same(List.of(List.of(2L)), rows(inside.executeQuery("SELECT a FROM kept")));
      inside.execute("COMMIT");
      same(List.of(List.of(2L)), rows("SELECT a FROM kept"));
      inside.execute("SET batch_size = 512");
      same(List.of(List.of("batch_size", "512")), rows(inside.executeQuery("SHOW batch_size")));
    }
    try {
      session.close();
    } catch (SQLException error) {
      says(error, "shutdown"); // the driver wants to end the session after it has closed its channel
    }
    // Without one BEGIN would be lost with its call.
    says(fails(() -> execute("BEGIN")), "session");
  }

  public void anotherConnectionSeesWhatWasWritten() throws Exception {
    execute("CREATE OR REPLACE TABLE shared (a BIGINT)");
    execute("INSERT INTO shared VALUES (7)");
    try (Connection other = connect(); Statement statement = other.createStatement()) {
      same(List.of(List.of(7L)), rows(statement.executeQuery("SELECT a FROM shared")));
    }
  }
}
