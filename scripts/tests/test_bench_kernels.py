"""The benchmark of the kernels runs, at a scale of which its numbers say nothing, and finds all answers equal."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "kernels"))

import numpy  # noqa: E402
from kernel_report import goals, table  # noqa: E402
from rounds import Way, equal  # noqa: E402
from workloads import KERNELS, SIZES, Workload, kmeans, kmeans_part, start_centres  # noqa: E402


def measured(**seconds: float) -> list[Way]:
    return [Way(None, name.replace("_", " "), first=taken, seconds=[taken]) for name, taken in seconds.items()]


class Kernels(unittest.TestCase):
    def test_every_way_of_every_kernel_gives_the_same_answer(self):
        with tempfile.TemporaryDirectory(prefix="quiver-test-") as directory:
            numbers = Path(directory) / "numbers.json"
            command = [sys.executable, ROOT / "bench" / "kernels", "--scale", "0.0003", "--rounds", "1", "--slow-rounds", "1"]
            command += ["--sizes", "small", "--repeated", "--json", numbers, "--dir", directory]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            parts = json.loads(numbers.read_text())["parts"]
        self.assertEqual([part["kernel"] for part in parts], ["call", *KERNELS])
        problems = [(part["kernel"], way["way"], way["problem"]) for part in parts for way in part["ways"] if way["problem"]]
        self.assertEqual(problems, [])
        for part in parts:
            beginnings = {way["way"].split(",")[0] for way in part["ways"]}
            self.assertLessEqual({"Quiver in process", "Quiver over Flight"}, beginnings)
        self.assertIn("not run: dataclay: not asked for", done.stdout)

    def test_objects_and_blocks_of_both_sizes_are_all_of_the_data(self):
        for kernel in KERNELS:
            for scale in (1, 0.37, 0.0001):
                workload = Workload(kernel, scale)
                for size in SIZES:
                    if workload.is_of_matrices:
                        cells = sum((rows.stop - rows.start) * (columns.stop - columns.start) for rows, columns in workload.blocks(size))
                        self.assertEqual(cells, workload.side**2)
                    else:
                        objects = workload.objects(size)
                        self.assertEqual(sum(rows.stop - rows.start for rows in objects), workload.count)

    def test_at_full_scale_the_data_are_those_of_the_paper(self):
        self.assertAlmostEqual(Workload("histogram", 1).bytes, 800e6, delta=1e3)
        self.assertAlmostEqual(Workload("kmeans", 1).count, 2e6, delta=64)
        self.assertEqual([Workload(kernel, 1).side for kernel in ("add", "multiply")], [8192, 4096])

    def test_centres_go_to_the_means_of_their_points(self):
        points = numpy.random.default_rng(3).standard_normal((3000, 50))
        found = kmeans(lambda centres: [kmeans_part(points[:1000], centres), kmeans_part(points[1000:], centres)])
        centres = start_centres()
        for _ in range(10):
            nearest = ((points[:, None] - centres) ** 2).sum(2).argmin(1)
            centres = numpy.stack([points[nearest == k].mean(0) if (nearest == k).any() else centres[k] for k in range(len(centres))])
        self.assertTrue(numpy.allclose(found, centres))

    def test_a_goal_is_met_or_missed_by_the_best_way(self):
        ways = measured(limit=0.05, Quiver_in_process=0.1, Quiver_over_Flight=0.2, dataClay_active=0.3, h5py_read=0.3)
        ways.append(Way(None, "dataClay non-active", seconds=[2.0], problem="WRONG: [1] and not [2]"))
        lines = goals([{"kernel": "histogram", "size": "big", "ways": ways}], 1)
        self.assertRegex("\n".join(lines), r"GB/s +8, at least 5 +met")
        self.assertRegex("\n".join(lines), r"times as fast as h5py \+ numpy +3, at least 4 +MISSED")
        self.assertNotIn("non-active", "\n".join(lines))
        shown = "\n".join(table({"kernel": "histogram", "size": "big", "ways": ways}, 1))
        self.assertIn("WRONG: [1] and not [2]", shown)
        self.assertRegex(shown, r"Quiver in process +0\.1000 +0\.1000 +0\.1000 +8\.00 +0\.50")

    def test_answers_of_other_lengths_and_nan_are_not_equal(self):
        self.assertTrue(equal([1.0, 2.0], [1.0, 2.0 + 1e-9]))
        self.assertFalse(equal([1.0], [1.0, 2.0]))
        self.assertFalse(equal([float("nan")], [1.0]))


if __name__ == "__main__":
    unittest.main()
