"""Functions in Rust, compiled to WebAssembly with the crate in engine/wasm/rust."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "python"))

import quiver  # noqa: E402

CRATE = ROOT / "engine" / "wasm" / "rust"
SOURCE = Path(__file__).resolve().parent / "wasm" / "functions.rs"
UNPACKED = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "quiver" / "rust-wasm32" / "usr"


def compiler() -> tuple[list, dict[str, str]] | None:
    """A rustc that compiles for wasm32, and its environment: that of the machine, or the one that scripts/deps.sh unpacks."""
    own = shutil.which("rustc")
    if own:
        found = subprocess.run([own, "--print", "target-libdir", "--target", "wasm32-unknown-unknown"], capture_output=True, text=True)
        if found.returncode == 0 and Path(found.stdout.strip()).is_dir():
            return [own], dict(os.environ)
    unpacked = UNPACKED / "bin" / "rustc"
    if unpacked.exists() and shutil.which("wasm-ld"):
        return [unpacked, "-Clinker=wasm-ld"], os.environ | {"LD_LIBRARY_PATH": str(UNPACKED / "lib" / "x86_64-linux-gnu")}
    return None


def compiled(source: Path, directory: Path) -> Path:
    command, environment = compiler()
    # The linker of the target is not that of the machine.
    for_machine = [word for word in command if not str(word).startswith("-Clinker")]

    def run(*words) -> None:
        done = subprocess.run(
            [*words, "--edition=2021", "--out-dir", directory], env=environment, capture_output=True, text=True, timeout=120
        )
        if done.returncode:
            raise AssertionError(done.stderr)

    macros, target = directory / "libquiver_macros.so", "--target=wasm32-unknown-unknown"
    run(*for_machine, "--crate-type=proc-macro", "--crate-name=quiver_macros", "--extern=proc_macro", CRATE / "macros" / "src" / "lib.rs")
    run(*command, "-O", target, "--crate-type=rlib", "--crate-name=quiver", f"--extern=quiver_macros={macros}", CRATE / "src" / "lib.rs")
    run(*command, "-O", "-Ctarget-feature=+simd128,+bulk-memory", target, "--crate-type=cdylib", "--crate-name=functions", source, f"-L{directory}", f"--extern=quiver={directory / 'libquiver.rlib'}")  # fmt: skip
    return directory / "functions.wasm"


@unittest.skipUnless(compiler(), "there is no Rust for wasm32")
class RustFunctions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory(prefix="quiver-test-")
        cls.addClassCleanup(directory.cleanup)
        cls.con = quiver.open(Path(directory.name) / "store")
        cls.addClassCleanup(cls.con.close)
        page = (ROOT / "docs" / "user-functions.md").read_text()
        (example,) = re.findall(r"^```rust\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        source = Path(directory.name) / "functions.rs"
        source.write_text(SOURCE.read_text() + example)
        cls.con.sql(f"COPY BLOB functions FROM '{compiled(source, Path(directory.name))}'")

    def create(self, signature: str, symbol: str = "", kind: str = "FUNCTION") -> None:
        symbol = f"SYMBOL '{symbol}'" if symbol else ""
        self.con.sql(f"CREATE OR REPLACE {kind} {signature} LANGUAGE wasm AS BLOB functions {symbol}")

    def rows(self, sql: str) -> list:
        return self.con.sql(sql).fetchall()

    def error(self, sql: str) -> str:
        with self.assertRaises(quiver.Error) as caught:
            self.rows(sql)
        return str(caught.exception)

    def test_the_example_of_the_page_works(self):
        self.create("area(w DOUBLE, h DOUBLE) RETURNS DOUBLE")
        self.create("average(x DOUBLE) RETURNS DOUBLE", kind="AGGREGATE")
        self.assertEqual(self.rows("SELECT area(3, 4), area(3, NULL)"), [(12.0, None)])
        self.assertEqual(self.rows("SELECT average(x) FROM (VALUES (1), (NULL), (2)) AS v(x)"), [(1.5,)])
        self.create("larger(t TABLE, least DOUBLE) RETURNS TABLE (number BIGINT, size DOUBLE)")
        sizes = "(SELECT size::DOUBLE AS size FROM (VALUES (1), (3), (NULL)) AS v(size) ORDER BY size)"
        self.assertEqual(self.rows(f"SELECT * FROM larger({sizes}, 2)"), [(1, 3.0), (2, None)])

    def test_values_of_each_type_pass_and_null_is_none(self):
        for rust, sql, value in [
            ("bool", "BOOLEAN", "true"),
            ("i8", "TINYINT", "-5"),
            ("u8", "UTINYINT", "200"),
            ("i16", "SMALLINT", "-500"),
            ("u16", "USMALLINT", "60000"),
            ("i32", "INTEGER", "70000"),
            ("u32", "UINTEGER", "4000000000"),
            ("i64", "BIGINT", "9000000000"),
            ("u64", "UBIGINT", "18446744073709551615"),
            ("f32", "REAL", "1.5"),
            ("f64", "DOUBLE", "-0.25"),
            ("text", "VARCHAR", "'naïve text, longer than a view holds'"),
            ("bytes", "BYTEA", "'\\xc3\\xa4'"),
            ("i32", "DATE", "DATE '2024-02-29'"),
            ("i64", "TIMESTAMP", "TIMESTAMP '2024-02-29 12:34:56.789'"),
        ]:
            for kind in ["same", "maybe"]:
                with self.subTest(sql, kind=kind):
                    self.create(f"f(a {sql}) RETURNS {sql}", f"{kind}_{rust}")
                    rows = (
                        f"(SELECT 1 AS n, CAST({value} AS {sql}) AS a UNION ALL SELECT 2, NULL UNION ALL SELECT 3, CAST({value} AS {sql}))"
                    )
                    found, expected = (self.rows(f"SELECT {column} FROM {rows} AS r ORDER BY n") for column in ["f(a)", "a"])
                    self.assertEqual(found, expected)

    def test_a_result_says_what_is_wrong(self):
        self.create("initial(name VARCHAR) RETURNS VARCHAR")
        self.assertEqual(self.rows("SELECT initial('äb'), initial(''), initial(NULL)"), [("Ä", None, None)])
        self.assertIn("function initial: no good", self.error("SELECT initial('bad')"))
        self.create("breaks(a BIGINT) RETURNS BIGINT")
        self.assertEqual(self.rows("SELECT breaks(7)"), [(7,)])
        self.assertIn("function breaks", self.error("SELECT breaks(0)"))

    def test_many_rows_and_texts_pass(self):
        self.create("initial(name VARCHAR) RETURNS VARCHAR")
        query = (
            "SELECT count(*) FROM (SELECT a || repeat('x', (a % 50)::INT) AS s FROM range(100000) AS r(a)) WHERE initial(s) <> left(s, 1)"
        )
        self.assertEqual(self.rows(query), [(0,)])

    def test_parameters_of_other_types_are_refused(self):
        self.create("initial(a BIGINT) RETURNS VARCHAR")
        self.assertIn("parameter 1 is &str in Rust", self.error("SELECT initial(1)"))
        self.create("initial(a VARCHAR, b VARCHAR) RETURNS VARCHAR")
        self.assertIn("has 1 parameters, and is given 2", self.error("SELECT initial('a', 'b')"))

    def test_an_aggregate_has_a_state_for_each_group(self):
        self.create("average(x DOUBLE) RETURNS DOUBLE", kind="AGGREGATE")
        groups = "SELECT a % 30000 AS k, average((a % 77)::DOUBLE) AS one, avg(a % 77) AS other FROM range(300000) AS r(a) GROUP BY k"
        self.assertEqual(self.rows(f"SELECT count(*), count(*) FILTER (WHERE abs(one - other) > 1e-9) FROM ({groups})"), [(30000, 0)])
        self.assertEqual(self.rows("SELECT average(a) FROM range(0) AS r(a)"), [(None,)])

    def test_a_function_of_tables_gets_their_rows_and_returns_rows(self):
        self.con.sql(
            "CREATE OR REPLACE TABLE t AS SELECT * FROM (VALUES (1.0::DOUBLE, 'a'), (NULL, 'b'), (3, NULL), (4, 'd')) AS v(x, name)"
        )
        self.create("at_least(t TABLE, least DOUBLE) RETURNS TABLE (number BIGINT, name VARCHAR)")
        self.assertEqual(self.rows("SELECT * FROM at_least((SELECT name, x FROM t ORDER BY name), 1)"), [(0, "A"), (2, "D"), (3, None)])
        self.assertEqual(self.rows("SELECT * FROM at_least('t', least => NULL)"), [])
        self.assertEqual(self.rows("SELECT * FROM at_least((SELECT x, name FROM t WHERE x < 0), 0)"), [])
        self.assertIn('the table has no column "x", but name', self.error("SELECT * FROM at_least((SELECT name FROM t), 0)"))
        self.assertIn('column "x" is f64 in Rust', self.error("SELECT * FROM at_least((SELECT name, name AS x FROM t), 0)"))
        self.create("below(n BIGINT) RETURNS TABLE (number BIGINT)")
        self.assertEqual(self.rows("SELECT count(*), sum(number) FROM below(50000)"), [(50000, 49999 * 25000)])
        self.create("spread() RETURNS TABLE (b BOOLEAN, t VARCHAR, f REAL, bytes BYTEA)")
        self.assertEqual(self.rows("SELECT * FROM spread()"), [(True, "a", 0.5, b"\x01\x02"), (False, "b", -1.0, b"")])
        self.create("spread() RETURNS TABLE (b BOOLEAN, t VARCHAR)")
        self.assertIn("function spread", self.error("SELECT * FROM spread()"))

    def test_a_list_of_structs_is_a_table_of_its_row(self):
        self.create("total(items STRUCT(n BIGINT)[]) RETURNS BIGINT")
        items = "SELECT k, array_agg(CASE WHEN a < 9 THEN struct(a AS n) END) AS items FROM (SELECT a % 3 AS k, a FROM range(10) AS r(a)) AS s GROUP BY k"
        self.assertEqual(self.rows(f"SELECT total(items) FROM ({items}) AS g ORDER BY k"), [(9,), (12,), (15,)])
        self.create("items_of(lists BIGINT[][]) RETURNS BIGINT")
        self.assertIn("a list of other values than structs is no table", self.error("SELECT items_of([[1], [2, 3]])"))


if __name__ == "__main__":
    unittest.main()
