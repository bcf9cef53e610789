"""What the benchmark of the switches makes of its measurements, and that it knows every switch."""

import argparse
import re
import sys
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from switches import ALL_ON, NOISE, SWITCHES, geometric_mean, measure, ratios, rotated, switch_names, text_report  # noqa: E402  # noqa: E402


def queries(**times_of_off: list[float]) -> dict:
    """Q1 and so on with the given times of the switch `off`; 10 ms with all on."""
    return {
        int(name.removeprefix("q")): {"times_ms": {ALL_ON: [12.0, 10.0], "off": times}, "problems": []}
        for name, times in times_of_off.items()
    }


class FakeEngine:
    """Stands for an engine where only the order of runs, and what is done with them, is looked at."""

    def __init__(self, name, log, value="1"):
        self.name, self.log, self.value = name, log, value

    def run(self, sql):
        self.log.append(self.name)
        return 1.0

    def rows(self):
        return ["a"], [[self.value]]


class Switches(unittest.TestCase):
    def test_every_switch_of_the_engine_is_measured(self):
        source = (ROOT / "engine" / "common" / "src" / "engine_settings.rs").read_text()
        names = set(re.findall(r'"(quiver\.\w+)"', source))
        self.assertTrue(names)
        # Promises and no optimisations; one of writes, which bench/writes.py measures; and those of kernels, which TPC-H has not.
        names -= {"quiver.durability", "quiver.consistency", "quiver.direct_inserts", "quiver.pushdown", "quiver.statement_timeout_ms"}
        names -= {
            "quiver.precopy",
            "quiver.nearest_rows",
            "quiver.rank_limits",
            "quiver.running_windows",
            "quiver.grouping_set_states",
            "quiver.product_of_tables",
            "quiver.results_in_place",
        }
        # Limits of functions.
        names -= {"quiver.function_timeout_ms", "quiver.function_memory_bytes"}
        measured = {setting.split(" = ")[0] for settings in SWITCHES.values() for setting in settings}
        self.assertEqual({name for name in measured if name.startswith("quiver.")}, names)

    def test_the_switch_of_writes_is_measured_with_them(self):
        self.assertIn("quiver.direct_inserts = false", (ROOT / "engine" / "tests" / "suite" / "insert_speed.rs").read_text())
        self.assertIn('"planned"', (ROOT / "bench" / "writes.py").read_text())
        self.assertIn("`SET quiver.direct_inserts = false`", (ROOT / "docs" / "performance.md").read_text())

    def test_every_switch_is_in_the_table_of_the_performance_page(self):
        page = (ROOT / "docs" / "performance.md").read_text()
        for settings in SWITCHES.values():
            self.assertIn(f"`SET {settings[0]}`", page)

    def test_a_ratio_is_of_the_best_times_and_above_one_when_the_switch_helps(self):
        self.assertEqual(ratios(queries(q1=[25.0, 20.0], q6=[5.0, 6.0]), "off"), {1: 2.0, 6: 0.5})

    def test_a_query_that_failed_with_the_switch_off_has_no_ratio(self):
        self.assertEqual(ratios(queries(q1=[20.0], q6=[]), "off"), {1: 2.0})

    def test_twice_and_half_as_fast_are_one_in_the_mean(self):
        self.assertAlmostEqual(geometric_mean([2.0, 0.5]), 1.0)

    def test_the_report_names_the_three_queries_it_matters_most_for(self):
        measured = queries(q1=[11.0], q2=[40.0], q3=[30.0], q4=[9.0], q5=[20.0])
        machine = {"scale": "1", "threads": 2, "rounds": 2, "cpu": "c", "cores": 2, "memory_bytes": 2**30, "time": "t"}
        page = {"times_ms": {ALL_ON: [2.0, 1.5], "skip_rows": [80.0], NOISE: [1.0]}, "problems": []}
        report = text_report({"machine": machine, "queries": measured, "page": page})
        self.assertRegex(report, r"(?m)^off .* Q2 4\.00, Q3 3\.00, Q5 2\.00; Q4 0\.90$")
        self.assertRegex(report, r"(?m)^a page .*: 1\.5 ms all on, 80\.0 ms skip_rows$")

    def test_each_round_begins_with_another_configuration(self):
        orders = ["".join(rotated(["a", "b", "c"], by)) for by in range(4)]
        self.assertEqual(orders, ["abc", "bca", "cab", "abc"])

    def test_a_result_that_differs_with_a_switch_off_is_a_problem(self):
        log = []
        engines = {ALL_ON: FakeEngine("on", log), "off": FakeEngine("off", log, "2"), NOISE: FakeEngine("noise", log)}
        problems = measure("Q1", "select 1 as a", engines, 2)["problems"]
        self.assertEqual(problems, ["off: a: '2', all on '1'"])
        self.assertEqual(log, ["on", "off", "noise"] * 2 + ["off", "noise", "on"])

    def test_switches_are_chosen_by_name_with_and_without_prefix(self):
        self.assertEqual(switch_names("zone_pruning,quiver.integer_sets"), ["zone_pruning", "integer_sets"])
        self.assertIn("fast_decimals", switch_names("quiver"))
        self.assertNotIn("join_reordering", switch_names("quiver"))
        with self.assertRaises(argparse.ArgumentTypeError):
            switch_names("zone_prunning")


if __name__ == "__main__":
    unittest.main()
