import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Properties;

/** A connection, and what checks are made of. */
abstract class Check implements AutoCloseable {
  final Connection connection = connect();

  interface Action {
    void run() throws Exception;
  }

  interface Getter<T> {
    T get(ResultSet row) throws Exception;
  }

  /** Where the server is comes from the environment: __main__.py starts it. */
  static Connection connect() throws SQLException {
    return connect("");
  }

  /** With more properties at the end of the URL. */
  static Connection connect(String properties) throws SQLException {
    return DriverManager.getConnection(System.getenv("QUIVER_JDBC_URL") + properties, login(System.getenv("QUIVER_PASSWORD")));
  }

  static Properties login(String password) {
    Properties properties = new Properties();
    if (System.getenv("QUIVER_USER") != null) {
      properties.setProperty("user", System.getenv("QUIVER_USER"));
      properties.setProperty("password", password);
    }
    return properties;
  }

  protected Check() throws SQLException {}

  @Override
  public void close() throws SQLException {
    connection.close();
  }

  void execute(String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  int update(String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      return statement.executeUpdate(sql);
    }
  }

  List<List<Object>> rows(String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      return rows(statement.executeQuery(sql));
    }
  }

  static List<List<Object>> rows(ResultSet result) throws SQLException {
    try (result) {
      List<List<Object>> rows = new ArrayList<>();
      int columns = result.getMetaData().getColumnCount();
      while (result.next()) {
        List<Object> row = new ArrayList<>();
        for (int column = 1; column <= columns; column++) {
          row.add(result.getObject(column));
        }
        rows.add(row);
      }
      return rows;
    }
  }

  /** The values of one column, by its name. */
  static List<Object> column(ResultSet result, String name) throws SQLException {
    try (result) {
      List<Object> values = new ArrayList<>();
      while (result.next()) {
        values.add(result.getObject(name));
      }
      return values;
    }
  }

  /** What is made of the first row. */
  <T> T first(String sql, Getter<T> getter) throws Exception {
    try (Statement statement = connection.createStatement(); ResultSet result = statement.executeQuery(sql)) {
      isTrue(result.next(), "there is no row");
      return getter.get(result);
    }
  }

  <T> T one(PreparedStatement statement, Getter<T> getter) throws Exception {
    try (ResultSet result = statement.executeQuery()) {
      isTrue(result.next(), "there is no row");
      T value = getter.get(result);
      isTrue(!result.next(), "there is a second row");
      return value;
    }
  }

  static void same(Object expected, Object found) {
    if (!Objects.deepEquals(expected, found)) {
      throw new AssertionError("expected " + shown(expected) + ", found " + shown(found));
    }
  }

  static void isTrue(boolean condition, String otherwise) {
    if (!condition) {
      throw new AssertionError(otherwise);
    }
  }

  /** The error of what has to fail. */
  static SQLException fails(Action action) throws Exception {
    try {
      action.run();
    } catch (SQLException error) {
      return error;
    }
    throw new AssertionError("it did not fail");
  }

  static void says(Throwable error, String... words) {
    for (String word : words) {
      isTrue(String.valueOf(error.getMessage()).contains(word), "\"" + word + "\" is not in: " + error.getMessage());
    }
  }

  private static String shown(Object value) {
    if (value instanceof byte[] bytes) {
      return "bytes " + Arrays.toString(bytes);
    }
    return value + (value == null ? "" : " (" + value.getClass().getSimpleName() + ")");
  }
}
