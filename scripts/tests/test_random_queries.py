"""Random queries are answered as DuckDB answers them. `RANDOM_STATEMENTS` and `RANDOM_SEED` ask for another run."""

import os
import time
import unittest

from random_run import Run

REFUSED_MAX = 0.06
SLOW_MAX = 0.002


class RandomQueries(unittest.TestCase):
    def test_random_queries_have_the_answers_of_duckdb_and_of_other_forms_of_themselves(self):
        seed = int(os.environ.get("RANDOM_SEED") or 20261123)
        count = int(os.environ.get("RANDOM_STATEMENTS") or 2000)
        print(f"RANDOM_SEED={seed} RANDOM_STATEMENTS={count}", flush=True)
        run, start = Run(seed), time.monotonic()
        run.statements(range(count))
        print(f"{run.summary()}\n{time.monotonic() - start:.0f} s", flush=True)
        self.assertEqual([], run.failures, "\n\n".join(run.failures))
        self.assertLess(run.refused_share(), REFUSED_MAX, "\n".join(run.examples.values()))
        self.assertLess(len(run.slow), SLOW_MAX * count, run.slow)
        self.assertGreater(run.outcomes["same"], 0.8 * count, run.summary())


if __name__ == "__main__":
    unittest.main()
