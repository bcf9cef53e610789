"""Calls of pyarrow.flight that the measurements of `server.py` share."""

import json
import time

import pyarrow
import pyarrow.flight


def put(client, descriptor, table: pyarrow.Table) -> float:
    """Seconds until the server acknowledges all rows; Quiver does so after the commit."""
    started = time.perf_counter()
    writer, answers = client.do_put(descriptor, table.schema)
    writer.write_table(table, max_chunksize=64 * 1024)
    writer.done_writing()
    answers.read()
    writer.close()
    return time.perf_counter() - started


def to_table(name: str, mode: str) -> pyarrow.flight.FlightDescriptor:
    """The target of rows in Quiver."""
    return pyarrow.flight.FlightDescriptor.for_command(json.dumps({"table": name, "mode": mode}))


def count(client, ticket, options=None) -> int:
    """Reads the whole result and keeps no rows."""
    return sum(chunk.data.num_rows for chunk in client.do_get(ticket, options or pyarrow.flight.FlightCallOptions()) if chunk.data)


def asked(client, sql: str) -> list[pyarrow.flight.Ticket]:
    """One ticket for each part of the result."""
    return [endpoint.ticket for endpoint in client.get_flight_info(statement(sql)).endpoints]


def statement(sql: str) -> pyarrow.flight.FlightDescriptor:
    """The protobuf encoding of CommandStatementQuery in an Any."""

    def field(number: int, content: bytes) -> bytes:
        length, size = bytearray(), len(content)
        while size >= 0x80:
            length.append(size & 0x7F | 0x80)
            size >>= 7
        length.append(size)
        return bytes([number << 3 | 2]) + bytes(length) + content

    kind = b"type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery"
    return pyarrow.flight.FlightDescriptor.for_command(field(1, kind) + field(2, field(1, sql.encode())))
