"""Encodes the few protobuf messages of Flight SQL that the client sends, with the field numbers of FlightSql.proto."""

from __future__ import annotations

from collections.abc import Iterator

PACKAGE = "type.googleapis.com/arrow.flight.protocol.sql."


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(tag: int, value: int | str | bytes | None) -> bytes:
    if value is None:
        return b""
    if isinstance(value, int):
        return _varint(tag << 3) + _varint(value)
    if isinstance(value, str):
        value = value.encode()
    return _varint(tag << 3 | 2) + _varint(len(value)) + value


def any_of(name: str, body: bytes) -> bytes:
    """Wraps a message in google.protobuf.Any."""
    return field(1, PACKAGE + name) + field(2, body)


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The varint and length-delimited fields of a message. Fixed-size fields, which these messages never have, are an error."""
    at = 0
    while at < len(message):
        key, at = _read_varint(message, at)
        if key & 7 == 0:
            value, at = _read_varint(message, at)
            yield key >> 3, value
        elif key & 7 == 2:
            length, at = _read_varint(message, at)
            yield key >> 3, message[at : at + length]
            at += length
        else:
            raise ValueError(f"field {key >> 3} of a message has the unknown kind {key & 7}")


def _read_varint(message: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = message[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at


def text(message: bytes, tag: int) -> bytes:
    return next((value for number, value in fields(message) if number == tag and isinstance(value, bytes)), b"")


def number(message: bytes, tag: int) -> int:
    value = next((value for number, value in fields(message) if number == tag and isinstance(value, int)), 0)
    return value - (1 << 64) if value >= 1 << 63 else value


def query(sql: str, transaction: bytes | None) -> bytes:
    return any_of("CommandStatementQuery", field(1, sql) + field(2, transaction))


def substrait(plan: bytes, transaction: bytes | None) -> bytes:
    return any_of("CommandStatementSubstraitPlan", field(1, field(1, plan)) + field(2, transaction))


def prepare(sql: str, transaction: bytes | None) -> bytes:
    return any_of("ActionCreatePreparedStatementRequest", field(1, sql) + field(2, transaction))


def prepared_query(handle: bytes) -> bytes:
    return any_of("CommandPreparedStatementQuery", field(1, handle))


def prepared_update(handle: bytes) -> bytes:
    return any_of("CommandPreparedStatementUpdate", field(1, handle))


def close_prepared(handle: bytes) -> bytes:
    return any_of("ActionClosePreparedStatementRequest", field(1, handle))


def cancel(ticket: bytes) -> bytes:
    """Cancels the result of a ticket: a CancelFlightInfoRequest with a FlightInfo of one endpoint."""
    return field(1, field(3, field(1, field(1, ticket))))


def begin() -> bytes:
    return any_of("ActionBeginTransactionRequest", b"")


def end(transaction: bytes, *, commit: bool) -> bytes:
    return any_of("ActionEndTransactionRequest", field(1, transaction) + field(2, 1 if commit else 2))


_IF_MISSING = {"create": 1, "create_append": 1, "replace": 1, "append": 2}
_IF_EXISTS = {"create": 1, "create_append": 2, "replace": 3, "append": 2}


def ingest(schema: str, table: str, mode: str, transaction: bytes) -> bytes:
    options = field(1, _IF_MISSING[mode]) + field(2, _IF_EXISTS[mode])
    return any_of("CommandStatementIngest", field(1, options) + field(2, table) + field(3, schema) + field(6, transaction))
