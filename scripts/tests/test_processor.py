"""A processor that lacks what the binary was compiled for, emulated by QEMU where it is installed."""

import shutil
import subprocess
import unittest

from quiver_shell import QUIVER

QEMU = shutil.which("qemu-x86_64")


@unittest.skipUnless(QEMU, "qemu-user is not installed")
class Processor(unittest.TestCase):
    def version(self, processor: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([QEMU, "-cpu", processor, QUIVER, "--version"], capture_output=True, text=True, timeout=60)

    def test_a_processor_without_avx2_gets_a_sentence(self):
        done = self.version("Nehalem")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, "^quiver: this program needs a processor with AVX2 .*make build`\\n$")

    def test_a_processor_with_avx2_runs_it(self):
        done = self.version("max")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"^quiver \d")


if __name__ == "__main__":
    unittest.main()
