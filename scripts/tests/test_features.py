"""What cargo compiles for the binary alone is what it compiles for the workspace. Nothing is built here."""

import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def features(*packages: str) -> set[str]:
    """Each dependency with its version and features."""
    command = ["cargo", "tree", "--locked", "--offline", "--edges", "normal,build", "--prefix", "none", "--format", "{p} [{f}]"]
    lines = subprocess.run([*command, *packages], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return {line.removesuffix(" (*)") for line in lines if line}


class Features(unittest.TestCase):
    def test_the_binary_alone_has_the_dependencies_of_the_workspace_with_the_same_features(self) -> None:
        self.assertEqual(features("--package", "cli") - features("--workspace"), set())


if __name__ == "__main__":
    unittest.main()
