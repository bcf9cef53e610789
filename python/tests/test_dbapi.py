"""DB-API 2.0, and SQLAlchemy and pandas on top of it."""

import datetime
import unittest
from urllib.parse import quote

import pandas
import sqlalchemy

import quiver
import quiver.sqlalchemy
from both import InProcess, Remote
from quiver import dbapi


class DbApi:
    def connect(self, **options):
        connection = dbapi.connect(self.place, **self.login, **options)
        self.addCleanup(connection.close)
        return connection

    def test_the_module_says_what_it_is(self):
        self.assertEqual((dbapi.apilevel, dbapi.paramstyle, dbapi.threadsafety), ("2.0", "qmark", 2))
        self.assertTrue(issubclass(dbapi.ProgrammingError, dbapi.DatabaseError))
        self.assertIs(self.connect().Error, quiver.Error)

    def test_nothing_is_kept_before_commit(self):
        one, other = self.connect(), self.connect()
        cursor = one.cursor()
        cursor.execute("CREATE TABLE waited (a BIGINT, b VARCHAR)")
        one.commit()
        cursor.execute("INSERT INTO waited VALUES (?, ?)", (1, "one"))
        self.assertEqual(cursor.rowcount, 1)
        seen = other.cursor()
        self.assertEqual(seen.execute("SELECT count(*) FROM waited").fetchone(), (0,))
        other.commit()
        one.commit()
        self.assertEqual(seen.execute("SELECT a, b FROM waited").fetchall(), [(1, "one")])
        cursor.executemany("INSERT INTO waited VALUES (?, ?)", [(2, "two"), (3, None)])
        self.assertEqual(cursor.rowcount, 2)
        one.rollback()
        self.assertEqual(cursor.execute("SELECT count(*) FROM waited").fetchone(), (1,))

    def test_a_cursor_describes_its_columns(self):
        cursor = self.connect(autocommit=True).cursor()
        self.assertIsNone(cursor.description)
        cursor.execute("SELECT 1 AS n, 'x' AS t, CAST(1.5 AS DECIMAL(10, 2)) AS d, DATE '2026-11-20' AS day")
        self.assertEqual([column[0] for column in cursor.description], ["n", "t", "d", "day"])
        kinds = [dbapi.NUMBER, dbapi.STRING, dbapi.NUMBER, dbapi.DATETIME]
        self.assertTrue(all(column[1] == kind for column, kind in zip(cursor.description, kinds, strict=True)))
        self.assertEqual(cursor.description[2][4:6], (10, 2))
        cursor.execute("CREATE TABLE IF NOT EXISTS described (a BIGINT)")
        self.assertIsNone(cursor.description)
        with self.assertRaises(dbapi.ProgrammingError):
            cursor.fetchone()

    def test_rows_are_fetched_one_some_and_all(self):
        cursor = self.connect(autocommit=True).cursor()
        cursor.execute("SELECT value FROM generate_series(1, 10) AS g (value) ORDER BY value")
        self.assertEqual(cursor.fetchone(), (1,))
        self.assertEqual(cursor.fetchmany(2), [(2,), (3,)])
        self.assertEqual(next(iter(cursor)), (4,))
        self.assertEqual(next(cursor), (5,))
        self.assertEqual(len(cursor.fetchall()), 5)
        self.assertIsNone(cursor.fetchone())
        self.assertEqual(list(cursor), [])

    def test_rows_are_counted_where_some_were_changed(self):
        cursor = self.connect(autocommit=True).cursor()
        cursor.execute("CREATE OR REPLACE TABLE counted (a BIGINT)")
        self.assertEqual(cursor.rowcount, -1)
        self.assertEqual(cursor.executemany("INSERT INTO counted VALUES (?)", [(1,), (2,)]).rowcount, 2)
        self.assertEqual(cursor.execute("DELETE FROM counted WHERE a > ?", (5,)).rowcount, 0)
        self.assertEqual(cursor.execute("SELECT a FROM counted").rowcount, -1)

    def test_commit_in_sql_ends_the_transaction(self):
        connection = self.connect()
        cursor = connection.cursor()
        cursor.execute("CREATE OR REPLACE TABLE ended (a BIGINT)")
        cursor.execute("COMMIT")
        cursor.execute("INSERT INTO ended VALUES (1)")
        connection.rollback()
        self.assertEqual(cursor.execute("SELECT count(*) FROM ended").fetchone(), (0,))

    def test_a_block_whose_commit_fails_closes_its_connection(self):
        with self.assertRaises(dbapi.DatabaseError), self.connect() as connection:
            with self.assertRaises(dbapi.ProgrammingError):
                connection.cursor().execute("SELECT nothing_like_it")
        with self.assertRaisesRegex(dbapi.InterfaceError, "closed"):
            connection.cursor()

    def test_a_closed_cursor_and_a_closed_connection_say_so(self):
        connection = self.connect()
        cursor = connection.cursor()
        cursor.close()
        with self.assertRaisesRegex(dbapi.InterfaceError, "cursor is closed"):
            cursor.execute("SELECT 1")
        connection.close()
        with self.assertRaisesRegex(dbapi.InterfaceError, "connection is closed"):
            connection.cursor()


class SqlAlchemy:
    def setUp(self):
        self.engine = sqlalchemy.create_engine(self.url())
        self.addCleanup(self.engine.dispose)

    def test_pandas_writes_and_reads(self):
        frame = pandas.DataFrame({"n": [1, 2, 3], "t": ["a", None, "c"], "at": pandas.to_datetime(["2026-11-20"] * 3)})
        frame.to_sql("frames", self.engine, index=False, if_exists="replace")
        frame.to_sql("frames", self.engine, index=False, if_exists="append")
        read = pandas.read_sql("SELECT n, t, at FROM frames WHERE n > ? ORDER BY n", self.engine, params=(1,))
        self.assertEqual(read["n"].tolist(), [2, 2, 3, 3])
        self.assertEqual(read["at"].iloc[0], pandas.Timestamp("2026-11-20"))
        self.assertEqual(len(pandas.read_sql_table("frames", self.engine)), 6)

    def test_a_table_is_made_and_reflected(self):
        metadata = sqlalchemy.MetaData()
        made = sqlalchemy.Table(
            "reflected",
            metadata,
            sqlalchemy.Column("id", sqlalchemy.BigInteger, primary_key=True, autoincrement=False),
            sqlalchemy.Column("name", sqlalchemy.String(20), nullable=False, unique=True),
            sqlalchemy.Column("price", sqlalchemy.Numeric(10, 2)),
            sqlalchemy.Column("raw", sqlalchemy.LargeBinary),
            sqlalchemy.Column("at", sqlalchemy.DateTime),
            sqlalchemy.Column("ratio", sqlalchemy.Float),
        )
        metadata.drop_all(self.engine)
        metadata.create_all(self.engine)
        inspector = sqlalchemy.inspect(self.engine)
        self.assertIn("reflected", inspector.get_table_names())
        self.assertIn("main", inspector.get_schema_names())
        self.assertEqual(inspector.get_pk_constraint("reflected")["constrained_columns"], ["id"])
        self.assertEqual(inspector.get_unique_constraints("reflected")[0]["column_names"], ["name"])
        self.assertFalse(inspector.has_table("reflected_not"))
        found = sqlalchemy.Table("reflected", sqlalchemy.MetaData(), autoload_with=self.engine)
        self.assertEqual(found.columns.keys(), made.columns.keys())
        self.assertEqual((found.c.price.type.precision, found.c.price.type.scale), (10, 2))
        self.assertEqual([column.nullable for column in found.columns], [False, False, True, True, True, True])
        with self.assertRaises(sqlalchemy.exc.NoSuchTableError):
            sqlalchemy.Table("reflected_not", sqlalchemy.MetaData(), autoload_with=self.engine)

    def test_statements_of_sqlalchemy_run(self):
        metadata = sqlalchemy.MetaData()
        sales = sqlalchemy.Table(
            "sales",
            metadata,
            sqlalchemy.Column("day", sqlalchemy.Date),
            sqlalchemy.Column("amount", sqlalchemy.Integer),
        )
        metadata.drop_all(self.engine)
        metadata.create_all(self.engine)
        day = datetime.date(2026, 11, 20)
        with self.engine.begin() as connection:
            connection.execute(sales.insert(), [{"day": day, "amount": amount} for amount in range(10)])
            connection.execute(sales.update().where(sales.c.amount == 9).values(amount=90))
        with self.engine.connect() as connection:
            total = sqlalchemy.select(sqlalchemy.func.sum(sales.c.amount)).where(sales.c.day == day)
            self.assertEqual(connection.execute(total).scalar(), 126)
            page = sqlalchemy.select(sales.c.amount).order_by(sales.c.amount).limit(2).offset(3)
            self.assertEqual(connection.execute(page).scalars().all(), [3, 4])
            self.assertEqual(connection.execute(sales.delete().where(sales.c.amount < 5)).rowcount, 5)
            connection.rollback()
            self.assertEqual(connection.execute(sqlalchemy.select(sqlalchemy.func.count()).select_from(sales)).scalar(), 10)

    def test_a_connection_that_was_closed_is_replaced(self):
        with self.engine.connect() as connection:
            connection.connection.dbapi_connection.quiver.close()
            with self.assertRaises(sqlalchemy.exc.DBAPIError) as raised:
                connection.execute(sqlalchemy.text("SELECT 1"))
            self.assertTrue(raised.exception.connection_invalidated)
        with self.engine.connect() as connection:
            self.assertEqual(connection.execute(sqlalchemy.text("SELECT 1")).scalar(), 1)

    def test_an_interval_is_read_and_reflected(self):
        with self.engine.begin() as connection:
            connection.execute(sqlalchemy.text("CREATE OR REPLACE TABLE spans AS SELECT INTERVAL '2' DAY AS span"))
        table = sqlalchemy.Table("spans", sqlalchemy.MetaData(), autoload_with=self.engine)
        self.assertEqual(table.c.span.type.compile(self.engine.dialect), "INTERVAL")
        with self.engine.connect() as connection:
            plain = connection.execute(sqlalchemy.text("SELECT span FROM spans")).scalar()
            self.assertEqual(connection.execute(sqlalchemy.select(table.c.span)).scalar(), plain)

    def test_truths_in_a_url_are_no_texts(self):
        url = sqlalchemy.engine.make_url(self.url()).update_query_dict({"autocommit": "false"})
        engine = sqlalchemy.create_engine(url)
        with engine.connect() as connection:
            self.assertIs(connection.connection.dbapi_connection.autocommit, False)
        engine.dispose()
        with self.assertRaisesRegex(sqlalchemy.exc.ArgumentError, "neither true nor false"):
            sqlalchemy.create_engine(url.update_query_dict({"autocommit": "perhaps"})).connect()
        with self.assertRaisesRegex(sqlalchemy.exc.ArgumentError, 'no option "autocomit" of a URL of Quiver; did you mean autocommit'):
            sqlalchemy.create_engine(url.update_query_dict({"autocomit": "true"}))

    def test_a_view_is_listed_with_its_words(self):
        with self.engine.execution_options(isolation_level="AUTOCOMMIT").connect() as connection:
            connection.execute(sqlalchemy.text("CREATE OR REPLACE VIEW seen AS SELECT 1 AS a"))
        inspector = sqlalchemy.inspect(self.engine)
        self.assertEqual(inspector.get_view_names(), ["seen"])
        self.assertNotIn("seen", inspector.get_table_names())
        self.assertIn("SELECT 1 AS a", inspector.get_view_definition("seen"))


class DbApiInProcess(DbApi, InProcess):
    pass


class DbApiRemote(DbApi, Remote):
    pass


class SqlAlchemyInProcess(SqlAlchemy, InProcess):
    def url(self):
        return f"quiver:///{self.place}"


class SqlAlchemyRemote(SqlAlchemy, Remote):
    def test_a_session_that_the_server_has_forgotten_is_replaced(self):
        with self.engine.connect() as connection:
            backend = connection.connection.dbapi_connection.quiver._backend
            backend._answers("CloseSession", b"")
            with self.assertRaises(sqlalchemy.exc.OperationalError) as raised:
                connection.execute(sqlalchemy.text("SELECT 1"))
            self.assertTrue(raised.exception.connection_invalidated)
        with self.engine.connect() as connection:
            self.assertEqual(connection.execute(sqlalchemy.text("SELECT 1")).scalar(), 1)

    def url(self):
        user, password, ca = self.login["user"], quote(self.login["password"], safe=""), quote(str(self.login["tls_ca"]))
        return f"quiver+flight://{user}:{password}@{self.place.removeprefix('grpc+tls://')}?tls_ca={ca}"


if __name__ == "__main__":
    unittest.main()
