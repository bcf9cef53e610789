"""The stations of the walks in ARCHITECTURE.md are functions that exist."""

import re
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
STATIONS_MIN = 15


def walks() -> dict[str, list[tuple[str, str]]]:
    """Of each list, by its heading: the file and the function of every station."""
    section = (ROOT / "ARCHITECTURE.md").read_text().split("\n## Walks\n")[1].split("\n## ")[0]
    lists = {}
    for part in section.split("\n### ")[1:]:
        lines = part.splitlines()
        lists[lines[0]] = [station(line) for line in lines if re.match(r"\d+\. ", line)]
    return lists


def station(line: str) -> tuple[str, str]:
    _, path, _, function, _ = line.split("`", 4)
    return path, function


class Walks(unittest.TestCase):
    def test_every_station_is_a_function_of_its_file(self):
        for walk, stations in walks().items():
            for path, function in stations:
                with self.subTest(walk, path=path, function=function):
                    self.assertIsNotNone(re.search(rf"\bfn {function}[(<]", (ROOT / path).read_text()))

    def test_there_are_two_walks_and_each_has_its_stations(self):
        lists = walks()
        self.assertEqual(len(lists), 2)
        for walk, stations in lists.items():
            with self.subTest(walk):
                self.assertGreaterEqual(len(stations), STATIONS_MIN)


if __name__ == "__main__":
    unittest.main()
