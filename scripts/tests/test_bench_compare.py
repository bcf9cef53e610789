"""The benchmark calls a result wrong when it is, and only then."""

import sys
import unittest
from datetime import date
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from compare import differences, order_by_columns

ORDERED = "select a, b from t order by b desc, a\nlimit 10;"


class Compare(unittest.TestCase):
    def assert_equal(self, texts, values, sql="select a, b from t"):
        self.assertEqual(differences(sql, (["a", "b"], texts), (["a", "b"], values)), [])

    def assert_different(self, texts, values, sql="select a, b from t"):
        self.assertNotEqual(differences(sql, (["a", "b"], texts), (["a", "b"], values)), [])

    def test_the_same_values_of_every_type_are_equal(self):
        self.assert_equal([["x", "1.50"], ["2013-01-01", "-3"]], [["x", Decimal("1.5")], [date(2013, 1, 1), Decimal(-3)]])

    def test_rows_without_order_may_come_in_any(self):
        self.assert_equal([["x", "1"], ["y", "2"]], [["y", 2], ["x", 1]])

    def test_rows_against_the_order_are_wrong(self):
        self.assert_different([["x", "1"], ["y", "2"]], [["y", 2], ["x", 1]], ORDERED)

    def test_a_decimal_one_cent_off_is_wrong(self):
        self.assert_different([["x", "100000000000.01"]], [["x", Decimal("100000000000.02")]])

    def test_a_double_may_differ_in_its_last_bits_only(self):
        self.assert_equal([["x", "0.30000000000000004"]], [["x", 0.3]])
        self.assert_different([["x", "0.300001"], ["y", "0.5"]], [["x", 0.3], ["y", 0.5]])

    def test_a_decimal_average_may_be_one_off_in_its_last_digit(self):
        self.assert_equal([["x", "0.050009"]], [["x", 0.0500094056]])
        self.assert_different([["x", "0.050019"]], [["x", 0.0500094056]])

    def test_a_rounded_average_with_few_digits_is_wrong(self):
        self.assert_different([["x", "25.5"]], [["x", 25.522]])

    def test_a_missing_row_and_a_null_are_seen(self):
        self.assert_different([["x", "1"]], [["x", 1], ["x", 1]])
        self.assert_different([["x", None]], [["x", 0]])
        self.assert_equal([["x", None]], [["x", None]])

    def test_a_row_twice_is_not_two_rows(self):
        self.assert_different([["x", "1"], ["x", "1"]], [["x", 1], ["y", 1]])

    def test_order_by_columns_are_those_of_the_whole_query(self):
        self.assertEqual(order_by_columns(ORDERED), ["b", "a"])
        self.assertEqual(order_by_columns("select sum(a) over (order by b) from t"), [])


if __name__ == "__main__":
    unittest.main()
