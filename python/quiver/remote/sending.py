"""Sends rows to the server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.flight as flight

from .. import data, types
from ..errors import InterfaceError, NotSupportedError, ProgrammingError

PIECE_BYTES = 32 << 20
"""The size up to which a message is not split."""

MESSAGE_BYTES_MAX = (256 << 20) - (64 << 10)
"""The server accepts messages of 256 MiB, including their headers."""


class Sending:
    """The rows of an Arrow stream, in pieces that fit into a message.

    Views are sent as plain text and bytes: a slice of them would carry all buffers that they refer to."""

    def __init__(self, rows: Any):
        try:
            self._reader = pa.RecordBatchReader.from_stream(rows)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise ProgrammingError(f"the rows cannot be read: {error}") from None
        data.check_names(self._reader.schema)
        self.schema = types.schema_without_views(self._reader.schema, large=True)
        self._is_stopped = False

    def stop(self) -> None:
        """Tells the sending thread to stop, because the caller has left."""
        self._is_stopped = True

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        while (batch := self._next_batch()) is not None:
            for piece in pieces(batch):
                if self._is_stopped:
                    raise InterfaceError("writing these rows was interrupted", hint="write them again")
                _check_fits(piece)
                yield piece

    def _next_batch(self) -> pa.RecordBatch | None:
        try:
            batch = self._reader.read_next_batch()
        except StopIteration:
            return None
        except Exception as error:
            raise ProgrammingError(f"the rows cannot be read: {error}") from error
        return batch if batch.schema.equals(self.schema) else batch.cast(self.schema)


def pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Splits a batch into halves recursively, unless that does not make it smaller and it fits: a slice keeps its whole dictionary."""
    size, half = batch.nbytes, batch.num_rows // 2
    parts = [batch.slice(0, half), batch.slice(half)]
    is_in_vain = size <= MESSAGE_BYTES_MAX and max(part.nbytes for part in parts) > 0.95 * size
    if size <= PIECE_BYTES or half == 0 or is_in_vain:
        yield batch
        return
    for part in parts:
        yield from pieces(part)


def _check_fits(piece: pa.RecordBatch) -> None:
    if piece.nbytes > MESSAGE_BYTES_MAX:
        message = f"a row of {piece.nbytes / 2**20:.0f} MiB cannot be sent: a server takes 256 MiB at once"
        raise NotSupportedError(message, hint="write smaller values; of a matrix, take smaller blocks")


def put(client: flight.FlightClient, options: flight.FlightCallOptions, command: bytes, schema: pa.Schema, batches: Any) -> bytes:
    """Sends the batches and returns the answer. If an error ends them here, they look complete to the server."""
    writer, answers = client.do_put(flight.FlightDescriptor.for_command(command), schema, options)
    with writer:
        for batch in batches:
            writer.write_batch(batch)
        writer.done_writing()
        answer = answers.read()
    return b"" if answer is None else answer.to_pybytes()
