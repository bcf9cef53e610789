"""Frames of pandas and polars through ADBC, over TLS and as a user."""

import datetime
import unittest
from decimal import Decimal

import pandas
import polars
import polars.testing
import pyarrow

# As a module: its test cases would otherwise be found here once more.
import test_flight_clients as clients


class Frames(clients.Secured):
    def setUp(self):
        self.connection = self.adbc()

    def columns(self) -> pyarrow.Table:
        at = datetime.datetime(2026, 11, 20, 14, 30, 0, 123456)
        return pyarrow.table(
            {
                "n": pyarrow.array([1, 2, None], pyarrow.int64()),
                "x": [0.5, None, 2.5],
                "t": ["one", None, "Grüße, 世界"],
                "flag": [True, False, None],
                "at": pyarrow.array([at, None, at], pyarrow.timestamp("us")),
                "price": pyarrow.array([Decimal("1.25"), None, Decimal("-7.00")], pyarrow.decimal128(12, 2)),
            }
        )

    def test_it_is_reached_over_tls(self):
        self.assertRegex(self.server.uri, r"^grpc\+tls://")

    def test_pandas_writes_a_frame_and_reads_it_back(self):
        given = self.columns().to_pandas(types_mapper=pandas.ArrowDtype)
        self.assertEqual(given.to_sql("pandas_frame", self.connection, index=False, if_exists="replace"), 3)
        found = pandas.read_sql("SELECT * FROM pandas_frame ORDER BY n NULLS LAST", self.connection, dtype_backend="pyarrow")
        pandas.testing.assert_frame_equal(found, given, check_dtype=False)
        self.assertEqual(given.to_sql("pandas_frame", self.connection, index=False, if_exists="append"), 3)
        counted = pandas.read_sql("SELECT count(*) AS n, sum(price) AS total FROM pandas_frame", self.connection)
        self.assertEqual(counted.to_dict("records"), [{"n": 6, "total": Decimal("-11.50")}])
        with self.assertRaisesRegex(ValueError, "already exists"):
            given.to_sql("pandas_frame", self.connection, index=False, if_exists="fail")

    def test_polars_writes_a_frame_and_reads_it_back(self):
        given = polars.from_arrow(self.columns())
        self.assertEqual(given.write_database("polars_frame", self.connection, if_table_exists="replace"), 3)
        found = polars.read_database("SELECT * FROM polars_frame ORDER BY n NULLS LAST", self.connection)
        polars.testing.assert_frame_equal(found, given)
        self.assertEqual(given.write_database("polars_frame", self.connection, if_table_exists="append"), 3)
        found = polars.read_database("SELECT t FROM polars_frame WHERE n > ?", self.connection, execute_options={"parameters": [1]})
        self.assertEqual(found["t"].to_list(), [None, None])

    def test_polars_reads_a_large_result_in_batches(self):
        sql = "SELECT value AS n FROM generate_series(1, 300000) AS g (value)"
        frames = list(polars.read_database(sql, self.connection, iter_batches=True, batch_size=50_000))
        self.assertGreater(len(frames), 1)
        self.assertEqual(sum(frame["n"].sum() for frame in frames), 300_000 * 300_001 // 2)

    def test_a_frame_is_not_written_or_read_by_who_may_not(self):
        frame = pandas.DataFrame({"a": [1]})
        frame.to_sql("frame_of_ada", self.connection, index=False, if_exists="replace")
        bob = self.adbc("bob", "other word")
        with self.assertRaisesRegex(Exception, "frame_of_ada"):
            pandas.read_sql("SELECT * FROM frame_of_ada", bob)
        with self.assertRaisesRegex(Exception, "CREATE"):
            polars.DataFrame({"a": [1]}).write_database("frame_of_bob", bob)


if __name__ == "__main__":
    unittest.main()
