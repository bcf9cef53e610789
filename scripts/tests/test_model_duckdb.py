"""A store that changes at random answers as DuckDB does. `MODEL_SEED` and `MODEL_STEPS` ask for another run."""

import os
import unittest

import model_duckdb


class ModelBesideDuckDB(unittest.TestCase):
    def test_a_store_and_duckdb_agree_on_every_answer_after_random_changes(self):
        seed = int(os.environ.get("MODEL_SEED") or 20261120)
        steps = int(os.environ.get("MODEL_STEPS") or 1200)
        print(f"MODEL_SEED={seed} MODEL_STEPS={steps}", flush=True)
        model_duckdb.run(seed, steps)


if __name__ == "__main__":
    unittest.main()
