import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

/** What goes wrong is an SQLException with the server's sentence, and the connection lives on. */
final class Failures extends Check {
  Failures() throws SQLException {}

  private void lives() throws Exception {
    same(List.of(List.of(1L)), rows("SELECT 1"));
  }

  public void aMistakeInSqlSaysWhereAndWhat() throws Exception {
    execute("CREATE OR REPLACE TABLE mistaken (amount BIGINT)");
    says(fails(() -> rows("SELECT amuont FROM mistaken")), "amuont", "amount", "line 1");
    says(fails(() -> rows("SELEKT 1")), "SELEKT");
    says(fails(() -> rows("SELECT * FROM nowhere")), "nowhere");
    lives();
  }

  public void anErrorWhileTheRowsComeIsAnError() throws Exception {
    // The driver throws no SQLException here, but its own unchecked one.
    try {
      rows("SELECT 100 / (value - 50000) FROM generate_series(1, 100000) AS g (value)");
    } catch (SQLException | RuntimeException error) {
      says(error, "zero");
      lives();
      return;
    }
    throw new AssertionError("it did not fail");
  }

  public void anErrorBeforeTheFirstRowIsAnSqlException() throws Exception {
    says(fails(() -> rows("SELECT 1 / 0")), "zero");
    lives();
  }

  public void constraintsAreNamed() throws Exception {
    execute("CREATE OR REPLACE TABLE held (a BIGINT PRIMARY KEY, b VARCHAR NOT NULL)");
    execute("INSERT INTO held VALUES (1, 'x')");
    says(fails(() -> update("INSERT INTO held VALUES (1, 'y')")), "held_pkey");
    says(fails(() -> update("INSERT INTO held VALUES (2, NULL)")), "NULL");
    lives();
  }

  public void aParameterThatIsMissing() throws Exception {
    try (PreparedStatement query = connection.prepareStatement("SELECT value FROM generate_series(1, 3) AS g (value) WHERE value = ?")) {
      fails(query::executeQuery);
    }
    lives();
  }

  public void aStatementThatIsClosedIsRefused() throws Exception {
    Statement statement = connection.createStatement();
    statement.close();
    fails(() -> statement.executeQuery("SELECT 1"));
    lives();
  }

  public void aResultThatIsNotReadToItsEndIsClosed() throws Exception {
    for (int times = 0; times < 20; times++) {
      try (Statement statement = connection.createStatement();
          ResultSet result = statement.executeQuery("SELECT value FROM generate_series(1, 100000000) AS g (value)")) {
        isTrue(result.next(), "there is no row");
      }
    }
    lives();
  }

  public void aServerThatIsNotThereIsAnError() throws Exception {
    fails(() -> DriverManager.getConnection("jdbc:arrow-flight-sql://127.0.0.1:1/?useEncryption=false", login("x")).createStatement()
        .executeQuery("SELECT 1"));
  }

  public void aWrongPasswordIsRefused() throws Exception {
    if (System.getenv("QUIVER_USER") == null) {
      return; // __main__.py says that there are no users
    }
    says(fails(() -> {
      try (Connection wrong = DriverManager.getConnection(System.getenv("QUIVER_JDBC_URL"), login("wrong"))) {
        wrong.createStatement().executeQuery("SELECT 1");
      }
    }), "password");
    lives();
  }
}
