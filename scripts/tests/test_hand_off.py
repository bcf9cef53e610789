"""The program of docs/hand-off.md: tables as files of the server, mapped by a client."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import pyarrow
import pyarrow.compute
import pyarrow.flight
from quiver_server import Server
from quiver_shell import QUIVER

PAGE = Path(__file__).parents[2] / "docs" / "hand-off.md"
ROWS = 300_000


def program(uri: str) -> str:
    """As the page has it, but for the address."""
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
    assert "grpc://127.0.0.1:31337" in code
    return code.replace("grpc://127.0.0.1:31337", uri)


def mapped(store: Path) -> list[tuple[int, int]]:
    """Where files of the store lie in this process."""
    lines = [line for line in Path("/proc/self/maps").read_text().splitlines() if str(store) in line]
    return [tuple(int(end, 16) for end in line.split()[0].split("-")) for line in lines]


class HandOff(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.store = Path(self.directory.name) / "store"

    def serve(self, *switches: str) -> pyarrow.flight.FlightClient:
        statement = "CREATE TABLE flights (a BIGINT, b VARCHAR) WITH (encoding = 'plain')"
        subprocess.run([QUIVER, "--store", self.store, "-c", statement], check=True, capture_output=True)
        server = Server(self.store, *switches)
        self.addCleanup(server.end)
        self.uri = server.uri
        client = pyarrow.flight.connect(server.uri)
        numbers = pyarrow.array(range(ROWS), pyarrow.int64())
        texts = pyarrow.compute.binary_join_element_wise("text number", numbers.cast("string"), " ")
        self.table = pyarrow.table({"a": numbers, "b": texts})
        writer, answers = client.do_put(
            pyarrow.flight.FlightDescriptor.for_command(b'{"table": "flights", "mode": "append"}'), self.table.schema
        )
        writer.write_table(self.table)
        writer.done_writing()
        answers.read()
        writer.close()
        return client

    def test_the_program_of_the_page_reads_the_table_in_place(self):
        self.serve("--hand-off", "*")
        names = {}
        exec(program(self.uri), names)
        table = names["table"]
        self.assertEqual(table.cast(self.table.schema), self.table)
        places = mapped(self.store)
        for column in table.columns:
            for chunk in column.chunks:
                for buffer in filter(None, chunk.buffers()):
                    inside = any(start <= buffer.address and buffer.address + buffer.size <= end for start, end in places)
                    self.assertTrue(inside, "a buffer was copied")

    def test_who_is_not_allowed_is_told_what_to_do(self):
        client = self.serve()
        with self.assertRaisesRegex(pyarrow.flight.FlightUnauthorizedError, "--hand-off"):
            list(client.do_action(pyarrow.flight.Action("lease", b"flights")))
