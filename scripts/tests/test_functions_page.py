"""docs/functions.md is what the catalogue and the examples give, and every function has an example."""

import tempfile
import unittest
from pathlib import Path

from functions_page import PAGE, answers, join, page


class FunctionsPage(unittest.TestCase):
    maxDiff = None

    def test_every_function_of_the_catalogue_is_called_as_the_page_shows(self):
        self.assertEqual(PAGE.read_text(), page(), "scripts/tests/functions_page.py makes the page again")

    def test_a_function_without_an_example_is_named(self):
        self.assertEqual(join([], [["abs", "SCALAR", "", "abs(x)"]], [], []), ["abs: no example of this scalar function"])

    def test_an_example_that_fails_has_its_error_and_those_behind_it_their_rows(self):
        with tempfile.TemporaryDirectory(prefix="quiver-test-") as directory:
            found = answers(Path(directory), "", ["SELECT 1", "SELECT nothing", "SELECT 2"])
        self.assertEqual(found, [[["1"]], 'error: column "nothing" does not exist', [["2"]]])


if __name__ == "__main__":
    unittest.main()
