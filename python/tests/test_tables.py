"""Tables by their names."""

import numpy
import pandas
import pyarrow as pa
import quiver
from both import in_both_ways

ROWS = 300_000


class Tables:
    def setUp(self):
        super().setUp()
        if "ordered" not in self.con.tables():
            self.con.write("ordered", pa.table({"n": numpy.arange(ROWS), "t": [f"row {n}" for n in range(ROWS)]}))
            # Rows of a log, after those of segments.
            self.con.executemany("INSERT INTO ordered VALUES (?, ?)", [(ROWS + n, "late") for n in range(3)])
            self.con.sql("DELETE FROM ordered WHERE n % 50000 = 7")
        self.expected = [n for n in range(ROWS + 3) if n % 50_000 != 7]

    def test_rows_come_in_the_order_in_which_they_lie(self):
        table = self.con.table("ordered")
        for _ in range(3):
            self.assertEqual(table.df()["n"].tolist(), self.expected)
        self.assertEqual(table.numpy(["n"])["n"].tolist(), self.expected)
        self.assertEqual(table.pl("n")["n"].to_list(), self.expected)
        self.assertEqual([n for batch in table for n in batch["n"].to_pylist()], self.expected)
        self.assertEqual(pa.table(table)["n"].to_pylist(), self.expected)

    def test_rows_of_a_temporary_table_come_in_their_order(self):
        self.con.sql("CREATE OR REPLACE VOLATILE TABLE kept AS SELECT n FROM ordered ORDER BY n DESC")
        self.assertEqual(self.con.table("kept").df()["n"].tolist(), self.expected[::-1])
        self.con.sql("DROP TABLE kept")

    def test_a_view_is_a_table_by_its_name(self):
        self.con.sql("CREATE OR REPLACE VIEW few AS SELECT n FROM ordered WHERE n < 3")
        self.assertEqual(sorted(self.con.table("few").df()["n"]), [0, 1, 2])
        self.assertEqual(len(self.con.table("few")), 3)

    def test_a_name_with_a_quote_is_a_name(self):
        self.con.write("it's", {"a": [1]}, mode="replace")
        self.assertEqual(self.con.table("it's").arrow().to_pydict(), {"a": [1]})

    def test_the_dataframe_protocol_gives_the_rows(self):
        self.con.write("exchanged", pa.table({"n": [1, 2, None], "t": ["a", None, "c"]}), mode="replace")
        for exchanged in (self.con.table("exchanged"), self.con.sql("SELECT * FROM exchanged")):
            frame = exchanged.__dataframe__()
            self.assertEqual((frame.num_rows(), list(frame.column_names())), (3, ["n", "t"]))
            self.assertEqual(frame.get_column_by_name("t").null_count, 1)
            rows = pandas.api.interchange.from_dataframe(exchanged)
            self.assertEqual(rows["n"].tolist()[:2], [1, 2])
            self.assertEqual(rows["t"].isna().tolist(), [False, True, False])
            with self.assertRaises(RuntimeError):
                pandas.api.interchange.from_dataframe(exchanged, allow_copy=False)

    def test_a_table_that_is_gone_says_so(self):
        self.con.write("going", {"a": [1]}, mode="replace")
        table = self.con.table("going")
        self.con.sql("DROP TABLE going")
        for ask in (lambda: table.columns, table.arrow, lambda: len(table)):
            with self.assertRaisesRegex(quiver.ProgrammingError, '"going" does not exist'):
                ask()


globals().update(in_both_ways(Tables))
