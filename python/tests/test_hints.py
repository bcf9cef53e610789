"""Names that users know from DuckDB, pandas and sqlite3: the error says what to write here."""

import copy
import re
import unittest
from unittest import mock

import quiver
import quiver.dbapi
from quiver import hints


class HintsForAttributes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.con = cls.enterClassContext(quiver.open())
        dbapi = quiver.dbapi.Connection(cls.con, autocommit=True)
        cls.objects = [cls.con, cls.con.table("system.queries"), cls.con.sql("SELECT 1"), dbapi, dbapi.cursor().execute("SELECT 1")]

    def test_a_name_of_another_library_says_what_to_write(self):
        con, table, result, dbapi, cursor = self.objects
        for thing, name, hint in [
            (con, "execute", "con.sql(…)"),
            (con, "fetchone", "con.sql(…).fetchone()"),
            (con, "append", 'con.write("t", frame, mode="append")'),
            (result, "fetchdf", "result.df()"),
            (result, "shape", "result.arrow().shape"),
            (table, "to_df", "table.df()"),
            (table, "fetchall", "table.select().fetchall()"),
            (dbapi, "execute", "con.cursor().execute(…)"),
            (dbapi, "write", "con.quiver.write()"),
            (cursor, "fetchnumpy", "cursor.result.numpy()"),
            (quiver, "read_parquet", "quiver.sql(\"FROM 'x.parquet'\")"),
            (quiver, "tables", 'con.tables() with con = quiver.open("store")'),
        ]:
            with self.subTest(hint), self.assertRaises(AttributeError) as raised:
                getattr(thing, name)
            self.assertTrue(str(raised.exception).endswith(f" has no attribute '{name}'; write {hint}"), raised.exception)

    def test_what_a_hint_names_exists_and_the_name_that_it_replaces_does_not(self):
        con, table, result, _, cursor = self.objects
        things = {"con": con, "table": table, "result": result, "cursor": cursor, "quiver": quiver}
        for thing, own in [(con, hints.CONNECTION), (table, hints.TABLE), (result, hints.RESULT)]:
            self.assertEqual([name for name in own if hasattr(thing, name)], [])
        for hint in {*hints.CONNECTION.values(), *hints.TABLE.values(), *hints.RESULT.values(), *hints.CURSOR.values()}:
            for owner, member in re.findall(r"\b(con|table|result|cursor|quiver)\.(\w+)", hint):
                self.assertTrue(hasattr(things[owner], member), hint)

    def test_other_names_have_pythons_own_error(self):
        for thing in self.objects:
            for name in ("nothing", "__array__", "__deepcopy__", "_repr_png_", "_ipython_display_"):
                self.assertFalse(hasattr(thing, name))
                with self.assertRaisesRegex(AttributeError, f"^'{type(thing).__name__}' object has no attribute '{name}'$"):
                    getattr(thing, name)
            self.assertEqual(vars(copy.copy(thing)), vars(thing))

    def test_the_error_of_a_property_is_its_own(self):
        with mock.patch.object(self.con._backend, "schema_of", side_effect=AttributeError("within")):
            with self.assertRaisesRegex(AttributeError, "^within$"):
                self.objects[1].schema  # noqa: B018

    def test_connecting_to_a_path_says_how_a_store_is_opened(self):
        for path in ("mystore", "files/my.db"):
            with self.assertRaisesRegex(quiver.ProgrammingError, f'quiver.open\\("{path}"\\) opens a store; for a server write grpc://'):
                quiver.connect(path)
        with self.assertRaisesRegex(quiver.ProgrammingError, r"quiver.open\(\) opens a store"):
            quiver.connect(":memory:")


if __name__ == "__main__":
    unittest.main()
