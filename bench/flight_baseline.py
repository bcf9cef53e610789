"""A minimal Flight server: pyarrow serves tables from memory. `server.py` uses it as the baseline.

Prints its port, keeps what is put under a name, and hands it out as it lies.
"""

import pyarrow
import pyarrow.flight


class Baseline(pyarrow.flight.FlightServerBase):
    def __init__(self):
        super().__init__("grpc://127.0.0.1:0")
        self.tables: dict[bytes, pyarrow.Table] = {}

    def do_put(self, context, descriptor, reader, writer):
        self.tables[descriptor.path[0]] = reader.read_all()

    def do_get(self, context, ticket):
        return pyarrow.flight.RecordBatchStream(self.tables[ticket.ticket])


if __name__ == "__main__":
    server = Baseline()
    print(server.port, flush=True)
    server.serve()
