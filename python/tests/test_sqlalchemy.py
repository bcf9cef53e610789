"""SQLAlchemy and pandas on top of DB-API."""

import datetime
import unittest
from urllib.parse import quote

import pandas
import quiver.sqlalchemy  # noqa: F401 - registers the dialects
import sqlalchemy
from both import InProcess, Remote


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

    def test_pandas_writes_the_index_as_a_column(self):
        frame = pandas.DataFrame({"n": [1, 2]}, index=pandas.Index(["a", "b"], name="key"))
        with self.assertWarnsRegex(sqlalchemy.exc.SAWarning, '"ix_indexed_key" is not made'):
            frame.to_sql("indexed", self.engine)
        self.assertEqual(pandas.read_sql("SELECT * FROM indexed ORDER BY key", self.engine)["key"].tolist(), ["a", "b"])

    def test_an_index_that_has_to_be_unique_is_refused(self):
        metadata = sqlalchemy.MetaData()
        sqlalchemy.Table("uniquely", metadata, sqlalchemy.Column("a", sqlalchemy.Integer, index=True, unique=True))
        with self.assertRaisesRegex(sqlalchemy.exc.CompileError, "UniqueConstraint"):
            metadata.create_all(self.engine)
        self.assertNotIn("uniquely", sqlalchemy.inspect(self.engine).get_table_names())

    def test_pandas_says_that_a_schema_is_missing(self):
        """pandas commits in any case, and shows only the error of the commit."""
        with self.assertRaisesRegex(sqlalchemy.exc.ProgrammingError, 'schema "elsewhere" does not exist'):
            pandas.DataFrame({"n": [1]}).to_sql("frames", self.engine, schema="elsewhere", index=False)

    def test_texts_are_joined(self):
        joined = sqlalchemy.literal("x") + "y"
        three = sqlalchemy.literal("x") + sqlalchemy.literal("y") + "%"
        with self.engine.connect() as connection:
            self.assertEqual(connection.execute(sqlalchemy.select(joined, three)).one(), ("xy", "xy%"))
            found = sqlalchemy.literal("axb").contains("x")
            self.assertIs(connection.execute(sqlalchemy.select(found)).scalar(), True)

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


class SqlAlchemyInProcess(SqlAlchemy, InProcess):
    def url(self):
        return f"quiver:///{self.place}"


class SqlAlchemyRemote(SqlAlchemy, Remote):
    def test_a_session_that_the_server_has_forgotten_is_replaced(self):
        with self.engine.connect() as connection:
            backend = connection.connection.dbapi_connection.quiver._backend
            backend._do_action("CloseSession", b"")
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
