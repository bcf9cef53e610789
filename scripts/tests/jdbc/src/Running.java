import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;

/** Large results, statements that are stopped, and connections as a pool has them. */
final class Running extends Check {
  private static final String ENDLESS = "SELECT value FROM generate_series(1, 1000000000000) AS g (value)";

  Running() throws SQLException {}

  public void aMillionRowsComeInBoundedMemory() throws Exception {
    String sql = "SELECT value AS a, 'text of row ' || value AS b, CAST(value AS DOUBLE) / 7 AS c FROM generate_series(1, 1000000) AS g (value)";
    long rows = 0;
    long sum = 0;
    long most = 0;
    try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(sql)) {
      while (result.next()) {
        rows++;
        sum += result.getLong(1);
        isTrue(result.getString("b").length() > 12, "the text is short");
        if (rows % 250_000 == 0) {
          System.gc();
          most = Math.max(most, Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory());
        }
      }
    }
    same(1_000_000L, rows);
    same(500_000_500_000L, sum);
    isTrue(most < 64L << 20, "the heap had " + (most >> 20) + " MiB");
  }

  public void aStatementIsCancelledFromAnotherThread() throws Exception {
    try (Statement statement = connection.createStatement()) {
      CountDownLatch read = new CountDownLatch(1);
      AtomicReference<Throwable> ended = new AtomicReference<>();
      Thread reader = new Thread(() -> {
        try (ResultSet result = statement.executeQuery(ENDLESS)) {
          while (result.next()) {
            read.countDown();
          }
        } catch (Throwable error) {
          ended.set(error);
        }
      });
      reader.start();
      read.await();
      try {
        statement.cancel();
      } catch (SQLException error) {
        // The driver closes its streams here while the reader reads them. Where the reader sees it first, the driver reports that.
        says(error, "Failed to close streams");
      }
      reader.join(30_000);
      isTrue(!reader.isAlive(), "it still reads");
      isTrue(ended.get() != null, "it read to the end of what has none");
    }
    same(List.of(List.of(1L)), rows("SELECT 1"));
  }

  /** The driver does not tell the server that the time is over: the end of the statement does, and until then its connection waits. */
  public void aQueryTimeoutEndsTheQueryWithItsStatement() throws Exception {
    String silent = "SELECT count(*) FROM generate_series(1, 1000000000000) AS g (value) WHERE value < 0";
    try (Statement statement = connection.createStatement()) {
      statement.setQueryTimeout(1);
      says(fails(() -> statement.executeQuery(silent)), "timed out");
    }
    same(List.of(List.of(1L)), rows("SELECT 1"));
    String running = "SELECT count(*) FROM system.queries WHERE statement LIKE '%WHERE value < 0%' AND statement NOT LIKE '%system.queries%'";
    for (int times = 0; times < 300 && !rows(running).equals(List.of(List.of(0L))); times++) {
      Thread.sleep(100);
    }
    same(List.of(List.of(0L)), rows(running));
  }

  /** A limit of the session is the server's own. */
  public void aStatementTimeoutEndsTheQueryOnTheServer() throws Exception {
    Connection session = connect("&catalog=quiver");
    try (Statement limited = session.createStatement()) {
      limited.execute("SET statement_timeout = '1s'");
      boolean hasEnded = false;
      try {
        rows(limited.executeQuery("SELECT count(*) FROM generate_series(1, 1000000000000) AS g (value) WHERE value < 0"));
      } catch (SQLException | RuntimeException late) {
        hasEnded = true;
      }
      isTrue(hasEnded, "it ran to its end");
    }
    try (Statement next = session.createStatement()) {
      next.execute("RESET statement_timeout");
      same(List.of(List.of(1L)), rows(next.executeQuery("SELECT 1")));
    }
    try {
      session.close();
    } catch (SQLException error) {
      says(error, "shutdown"); // the driver wants to end the session after it has closed its channel
    }
  }

  public void aLimitOfRowsIsKept() throws Exception {
    try (Statement statement = connection.createStatement()) {
      statement.setMaxRows(10);
      same(10, rows(statement.executeQuery("SELECT value FROM generate_series(1, 100000) AS g (value)")).size());
    }
  }

  public void statementsOfOneConnectionRunInTurn() throws Exception {
    try (Statement one = connection.createStatement(); Statement other = connection.createStatement()) {
      try (ResultSet first = one.executeQuery("SELECT 1 AS a"); ResultSet second = other.executeQuery("SELECT 2 AS a")) {
        isTrue(second.next() && first.next(), "there are no rows");
        same(List.of(1, 2), List.of(first.getInt(1), second.getInt(1)));
      }
      same(List.of(List.of(3L)), rows(one.executeQuery("SELECT 3")));
    }
  }

  public void aConnectionOfAPoolIsValidUntilItIsClosed() throws Exception {
    Connection pooled = connect();
    isTrue(pooled.isValid(5), "it is not valid");
    for (int times = 0; times < 100; times++) {
      try (Statement statement = pooled.createStatement()) {
        statement.execute("SELECT 1");
      }
    }
    isTrue(!pooled.isClosed(), "it is closed");
    pooled.close();
    isTrue(pooled.isClosed(), "it is open");
    isTrue(!pooled.isValid(5), "it is valid after its end");
  }

  public void manyConnectionsAtOnce() throws Exception {
    Connection[] connections = new Connection[16];
    try {
      for (int at = 0; at < connections.length; at++) {
        connections[at] = connect();
      }
      for (Connection each : connections) {
        try (Statement statement = each.createStatement()) {
          same(List.of(List.of(1L)), rows(statement.executeQuery("SELECT 1")));
        }
      }
    } finally {
      for (Connection each : connections) {
        if (each != null) {
          each.close();
        }
      }
    }
  }

  public void aTableIsReadByItsTypesOnly() throws Exception {
    execute("CREATE OR REPLACE TABLE streamed AS SELECT value AS a, 'x' || value AS b FROM generate_series(1, 200000) AS g (value)");
    same(List.of(List.of(200_000L, 20_000_100_000L)), rows("SELECT count(*), CAST(sum(a) AS BIGINT) FROM streamed"));
    long rows = 0;
    try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery("SELECT * FROM streamed")) {
      while (result.next()) {
        rows++;
      }
    }
    same(200_000L, rows);
    isTrue(DriverManager.getDrivers().hasMoreElements(), "there is no driver");
  }
}
