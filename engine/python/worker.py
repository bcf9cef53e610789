"""A worker process: it has one function of a user, which can do nothing but compute.

The engine starts it with a socket as standard input, a file in memory with arguments as standard output, and one for results as standard error.
Each message on the socket says where a text in JSON lies in one of the files. Arrays lie beside it, or in files whose descriptors came with a
message, and are described by their length, their count of nulls, their offset, their buffers and their children.
"""

import ast
import builtins
import ctypes
import importlib
import json
import linecache
import mmap
import os
import resource
import signal
import socket
import struct
import sys
import sysconfig
import textwrap
import threading
import traceback

MESSAGE = struct.Struct("<QQ")  # Where a text begins, and its bytes.
REQUEST = struct.Struct("<QQQ")  # The same, and whether the last file that comes with it is for results.
FILES_MAX = 250  # Descriptors in one message: the kernel passes on 253.
ALIGNMENT = 64
NICE = 10  # Calls wait sooner than queries do.
TIME_MAX_S = 1 << 30


class Refused(Exception):
    """What is wrong with the function, said by us and not by its code."""


class ArrowArray(ctypes.Structure):
    """As in Arrow's C data interface."""


ArrowArray._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "buffer_count", "child_count")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))),
    ("private_data", ctypes.c_void_p),
]


class Channel:
    """The socket and the two files."""

    def __init__(self) -> None:
        for descriptor in range(3):
            os.dup2(descriptor, 3 + descriptor)
        # Whatever else the engine's process has passed on is not for a function.
        os.closerange(6, os.sysconf("SC_OPEN_MAX"))
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nothing, descriptor)
        os.close(nothing)
        self.socket = socket.socket(fileno=3)
        self.arguments, self.results = 4, 5
        self.sources: list = []  # Buffers: the arguments, and the files that were passed on.
        self.arguments_bytes = 0

    def receive(self) -> dict:
        message, descriptors, _, _ = socket.recv_fds(self.socket, REQUEST.size, FILES_MAX)
        if len(message) < REQUEST.size:
            os._exit(0)  # The engine needs it no more.
        start, length, has_new_results = REQUEST.unpack(message)
        if has_new_results:
            os.close(self.results)
            self.results = descriptors.pop()
        size = os.fstat(self.arguments).st_size
        if size != self.arguments_bytes:
            self.arguments_bytes = size
            self.sources[:1] = [self.mapped(self.arguments, size)]
        request = json.loads(self.sources[0].slice(start, length).to_pybytes())
        if request.get("forget"):
            del self.sources[1:]
        for descriptor in descriptors:
            self.sources.append(self.mapped(descriptor, os.fstat(descriptor).st_size))
            os.close(descriptor)
        return request

    @staticmethod
    def mapped(descriptor: int, size: int):
        return pa.py_buffer(mmap.mmap(descriptor, size, mmap.MAP_SHARED, mmap.PROT_READ))

    def send(self, reply: dict, buffers=()) -> None:
        """The buffers begin at 0; each begins at a multiple of the alignment."""
        at = 0
        for buffer in buffers:
            self.write(buffer, at)
            at += -(-buffer.size // ALIGNMENT) * ALIGNMENT
        text = json.dumps(reply).encode()
        self.write(text, at)
        self.socket.sendall(MESSAGE.pack(at, len(text)))

    def write(self, content, at: int) -> None:
        """Unlike a store into a mapping, it does not make the kernel clear pages first."""
        rest = memoryview(content)
        while rest:
            written = os.pwrite(self.results, rest, at)
            rest, at = rest[written:], at + written


def arguments_of(sources: list, data_type, description):
    """The array that a description means, in place."""
    if isinstance(data_type, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(data_type, arguments_of(sources, data_type.storage_type, description))
    length, nulls, offset, buffers, children = description
    buffers = [None if buffer is None else sources[buffer[0]].slice(buffer[1], buffer[2]) for buffer in buffers]
    children = [arguments_of(sources, data_type.field(at).type, child) for at, child in enumerate(children)]
    return pa.Array.from_buffers(data_type, length, buffers, nulls, offset, children or None)


class Results:
    """Arrays, described, and the buffers that they need."""

    def __init__(self) -> None:
        self.buffers: list = []
        self.bytes = 0

    def add(self, values) -> list:
        if isinstance(values, pa.ExtensionArray):
            values = values.storage
        buffers = values.buffers()
        if values.type.num_fields == 0:
            return [len(values), values.null_count, values.offset, [self.put(buffer) for buffer in buffers], []]
        # Only the C interface says what the offsets of children are.
        exported = ArrowArray()
        values._export_to_c(ctypes.addressof(exported))
        try:
            return self.nested(exported, iter(buffers))
        finally:
            exported.release(ctypes.byref(exported))

    def nested(self, exported: ArrowArray, buffers) -> list:
        own = [self.put(next(buffers)) for _ in range(exported.buffer_count)]
        children = [self.nested(exported.children[at].contents, buffers) for at in range(exported.child_count)]
        return [exported.length, exported.null_count, exported.offset, own, children]

    def put(self, buffer):
        if buffer is None:
            return None
        start = self.bytes
        self.buffers.append(buffer)
        self.bytes += -(-buffer.size // ALIGNMENT) * ALIGNMENT
        return [start, buffer.size]


def array_of(values, data_type, what: str):
    """What a function has returned as an array of the declared type."""
    try:
        if isinstance(values, pa.ChunkedArray):
            values = values.combine_chunks()
        if isinstance(values, pa.ExtensionArray):
            values = values.storage
        if isinstance(values, pa.Array):
            return values if values.type == data_type else values.cast(data_type)
        if getattr(values, "ndim", 1) > 1 and pa.types.is_fixed_size_list(data_type):
            size = 1
            for length in values.shape[1:]:
                size *= length
            if size != data_type.list_size:
                raise Refused(f"{what} has {size} values in each row, and {data_type.list_size} are declared")
            return pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)).cast(data_type.value_type), data_type.list_size)
        if isinstance(values, (list, tuple)) and pa.types.is_fixed_size_list(data_type):
            # Tensors, each an array of numpy.
            values = [value.reshape(-1) if getattr(value, "ndim", 1) > 1 else value for value in values]
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__"):
            raise Refused(f"{what} is {type(values).__name__}, and not an array")
        # With the type given, pyarrow makes 1 of 1.5.
        made = array_of_any_type(values, data_type)
        return made if made.type == data_type else made.cast(data_type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, TypeError) as error:
        raise Refused(f"{what} is no {data_type}: {error}") from None


def array_of_any_type(values, data_type):
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        # A map cannot be told from a list of pairs.
        if pa.types.is_map(data_type):
            return pa.array(values, data_type)
        raise


def table_of(rows, what: str):
    try:
        if isinstance(rows, pa.RecordBatch):
            return pa.Table.from_batches([rows])
        return pa.Table.from_pylist(rows) if isinstance(rows, list) else pa.table(rows)
    except (TypeError, ValueError, AttributeError, pa.ArrowInvalid):
        raise Refused(f"{what} is {type(rows).__name__}, and not a table") from None


class StatementError(Exception):
    """A statement of a procedure has failed. The call fails with it, and what it has changed is taken back."""


class Session:
    """What a procedure gets besides its arguments: it runs statements in the transaction of the call."""

    def __init__(self, function: "Function", time_s: int) -> None:
        self._function, self._time_s = function, time_s
        self._lock, self._is_closed = threading.Lock(), False

    def _close(self) -> None:
        with self._lock:
            self._is_closed = True

    def sql(self, query: str, params=()):
        """Runs a statement, with values for `$1`, `$2`, … or `?`; returns its rows."""
        if not isinstance(params, (list, tuple)):
            raise TypeError(f"params is a list of values, and not {type(params).__name__}")
        values = [value_of(value) for value in params]
        row = pa.RecordBatch.from_arrays(values, [f"${at + 1}" for at in range(len(values))])
        return self._ask({"text": query}, pa.Table.from_batches([row]))

    def write(self, table: str, rows, mode: str = "create", *, schema: str | None = None) -> int:
        """Adds rows to a table; modes are those of `Connection.write`. Returns the number of rows."""
        if mode not in ("create", "append", "create_append", "replace"):
            raise ValueError(f"there is no mode {mode!r}: there are create, append, create_append and replace")
        try:
            rows = table_of(rows, "what is written")
        except Refused as error:
            raise TypeError(str(error)) from None
        self._ask({"text": table, "mode": mode, "schema": schema}, rows)
        return len(rows)

    def _ask(self, request: dict, rows):
        for name in ("text", "schema"):
            if not isinstance(request.get(name, ""), (str, type(None))):
                raise TypeError(f"{request[name]!r} is no text")
        frame = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename != self._function.file:
            frame = frame.f_back
        results = Results()
        rows = plain_table(rows)
        columns = results.put(rows.schema.serialize())
        batches = [[[results.add(column) for column in batch.columns], batch.num_rows] for batch in rows.to_batches()]
        request |= {"line": frame.f_lineno if frame else 0, "columns": columns}
        channel = self._function.channel
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the procedure has ended: its session runs no statements any more")
            # The time of a statement is not the function's.
            signal.alarm(0)
            try:
                channel.send({"request": request, "batches": batches}, results.buffers)
                answer = channel.receive()
            except OSError as error:
                raise MemoryError(f"there is no room for what the statement needs: {error}") from None
            finally:
                signal.alarm(self._time_s)
            if "error" in answer:
                raise StatementError(answer["error"])
            start, length = answer["schema"]
            schema = pa.ipc.read_schema(channel.sources[0].slice(start, length))
            # The next answer lies at the same place.
            sources = [Copied(channel.sources[0]), *channel.sources[1:]]
            return pa.Table.from_batches(Function.batches(schema, answer["batches"], sources), schema)


def plain_table(rows):
    """The rows with the values of extension types and dictionaries in their place; fields say of the former what they are."""
    columns, fields = [], []
    for field, column in zip(rows.schema, rows.columns):
        if pa.types.is_dictionary(field.type):
            column = column.cast(field.type.value_type)
            field = field.with_type(column.type)
        fields.append(field)
        columns.append(column)
    return pa.table(columns, schema=pa.schema(fields))


class Copied:
    """A buffer of which slices are copies."""

    def __init__(self, buffer) -> None:
        self.buffer = buffer

    def slice(self, start: int, length: int):
        return pa.py_buffer(self.buffer.slice(start, length).to_pybytes())


def value_of(value):
    """The value as an array with one; an array becomes a list."""
    if isinstance(value, pa.ChunkedArray):
        value = value.combine_chunks()
    if isinstance(value, pa.Array):
        return pa.ListArray.from_arrays([0, len(value)], value)
    return pa.array([value.as_py()], value.type) if isinstance(value, pa.Scalar) else pa.array([value])


class Function:
    """The function of a user."""

    def __init__(self, request: dict, channel: Channel) -> None:
        self.channel, sources = channel, channel.sources
        self.name, self.kind = request["name"], request["kind"]
        self.schemas = [pa.ipc.read_schema(sources[0].slice(start, length)) for start, length in request["schemas"]]
        self.returns = pa.schema([self.plain(field) for field in self.schemas.pop()])
        self.file = f"<function {self.name}>"
        self.source = textwrap.dedent(request["source"])
        self.symbol, self.imports = request["symbol"], request["imports"]
        self.call = None

    @staticmethod
    def plain(field):
        is_extension = isinstance(field.type, pa.BaseExtensionType)
        return field.with_type(field.type.storage_type) if is_extension else field

    def prepare(self) -> None:
        """Imports what the source names, before the process can open nothing any more."""
        linecache.cache[self.file] = (len(self.source), None, self.source.splitlines(True), self.file)
        for node in ast.walk(ast.parse(self.source, self.file)):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            for name in names:
                self.check_import(name)
                try:
                    importlib.import_module(name)
                except ImportError as error:
                    raise Refused(f"the module {name} cannot be imported here: {error}") from None

    def check_import(self, name: str) -> None:
        if name != "__future__" and "*" not in self.imports and name.partition(".")[0] not in self.imports:
            raise Refused(f"it imports {name or 'a module beside it'}, and functions may import {', '.join(self.imports)}")

    def load(self) -> None:
        imported = builtins.__import__

        def checked(name, *rest, **named):
            level = named.get("level", rest[3] if len(rest) > 3 else 0)
            self.check_import("" if level else name)
            return imported(name, *rest, **named)

        names = {"__name__": self.name, "__builtins__": {**vars(builtins), "__import__": checked}}
        exec(compile(self.source, self.file, "exec"), names)
        owner, _, method = self.symbol.rpartition(".")
        found = names.get(owner or method)
        if owner:
            if not callable(getattr(found, method, None)):
                raise Refused(f"its source defines no method {self.symbol}")
            self.call = lambda first, *rest: getattr(found(first), method)(*rest)
        elif callable(found):
            self.call = found
        else:
            raise Refused(f"its source defines no function {self.symbol}")

    def run(self, request: dict, sources: list) -> tuple[list, Results]:
        results = Results()
        inputs = [self.batches(schema, given, sources) for schema, given in zip(self.schemas, request["inputs"])]
        batches = getattr(self, self.kind)(request, inputs)
        return [[[results.add(column) for column in columns], rows] for columns, rows in batches], results

    @staticmethod
    def batches(schema, given: list, sources: list) -> list:
        return [
            pa.RecordBatch.from_arrays([arguments_of(sources, field.type, column) for field, column in zip(schema, columns)], schema=schema)
            for columns in given
        ]

    def procedure(self, request: dict, inputs: list):
        session = Session(self, min(request["time_s"], TIME_MAX_S))
        try:
            result = self.call(session, *(column[0].as_py() for column in inputs[0][0].columns))
        finally:
            session._close()
        if len(self.returns):
            return self.batches_of(result)
        if result is not None:
            raise Refused(f"it returned {type(result).__name__}, and declares no RETURNS TABLE")
        return []

    def scalar(self, request: dict, inputs: list):
        rows = request["rows"]
        (columns,) = inputs[0]
        result = self.call(*columns.columns)
        if not columns.columns:
            result = [result.as_py() if isinstance(result, pa.Scalar) else result]
        result = array_of(result, self.returns[0].type, "its result")
        if len(result) != rows:
            raise Refused(f"it returned {len(result)} values for {rows} rows")
        return [([result], rows)]

    def aggregate(self, request: dict, inputs: list):
        (columns,), ends = inputs[0], request["ends"]
        values, start = [], 0
        for end in ends:
            value = self.call(*(column.slice(start, end - start) for column in columns.columns))
            values.append(value.as_py() if isinstance(value, pa.Scalar) else value)
            start = end
        return [([array_of(values, self.returns[0].type, "a result")], len(ends))]

    def table(self, request: dict, inputs: list):
        (values,), tables = inputs[0], iter(zip(inputs[1:], self.schemas[1:]))
        scalars = iter(values.columns)
        arguments = []
        for is_table in request["is_table"]:
            if is_table:
                batches, schema = next(tables)
                arguments.append(pa.Table.from_batches(batches, schema))
            else:
                arguments.append(next(scalars)[0].as_py())
        return self.batches_of(self.call(*arguments))

    def batches_of(self, result) -> list:
        """The rows of a result with the declared columns."""
        is_list_of_rows = isinstance(result, list) and (not result or isinstance(result[0], dict))
        is_table = is_list_of_rows or isinstance(result, (dict, pa.RecordBatch)) or hasattr(result, "__arrow_c_stream__")
        if len(self.returns) == 1 and not is_table:
            is_value = isinstance(result, (str, bytes)) or not hasattr(result, "__len__")
            result = {self.returns[0].name: [result] if is_value else result}
        if isinstance(result, dict):
            return [self.columns(result)]
        table = table_of(result, "its result") if result or not is_list_of_rows else self.returns.empty_table()
        return [self.columns(dict(zip(batch.schema.names, batch.columns))) for batch in table.to_batches()]

    def columns(self, columns: dict):
        missing = [field.name for field in self.returns if field.name not in columns]
        if missing:
            raise Refused(f"its result has no column {missing[0]}: it has {', '.join(columns) or 'none'}")
        arrays = [array_of(columns[field.name], field.type, f"the column {field.name}") for field in self.returns]
        lengths = {len(column) for column in arrays}
        if len(lengths) > 1:
            raise Refused(f"the columns of its result have different lengths: {', '.join(map(str, sorted(lengths)))}")
        return arrays, lengths.pop()


libc = ctypes.CDLL(None, use_errno=True)


def system(number: int, *values) -> int:
    return libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) if isinstance(value, int) else value for value in values))


def restrict() -> bool:
    """Leaves nothing to read but libraries, for this thread and those that it starts: so before a library has started one. Whether the kernel
    can do that."""
    os.nice(NICE)
    if libc.prctl(38, 1, 0, 0, 0) != 0:  # PR_SET_NO_NEW_PRIVS
        return False
    create, add_rule, restrict_self = map(int, sys.argv[1:4])
    everything, reading = (1 << 13) - 1, 1 << 2 | 1 << 3  # All rights of Landlock's first version; to read files and directories.
    rules = system(create, ctypes.c_char_p(struct.pack("=Q", everything)), 8, 0)
    if rules < 0:
        return False
    paths = {path for path in sys.path if path} | {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    for path in paths | {"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/zoneinfo", "/etc/ld.so.cache"}:
        try:
            descriptor = os.open(path, os.O_PATH)
        except OSError:
            continue
        rights = reading if os.path.isdir(path) else 1 << 2
        system(add_rule, rules, 1, ctypes.c_char_p(struct.pack("=Qi", rights, descriptor)), 0)
        os.close(descriptor)
    done = system(restrict_self, rules, 0)
    os.close(rules)
    return done == 0


def lock(request: dict, reads_only_libraries: bool, status) -> None:
    """From here on the process computes and does nothing else. `status` is the file of that name of /proc."""
    data = next(int(line.split()[1]) << 10 for line in status if line.startswith("VmData:"))
    status.close()
    limit = request["memory_bytes"]
    for kind, most in [
        (resource.RLIMIT_DATA, data + limit),
        (resource.RLIMIT_FSIZE, limit),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 2 * FILES_MAX),
    ]:
        resource.setrlimit(kind, (most, most))
    for program in map(bytes.fromhex, request["filters"][0 if reads_only_libraries else 1]):
        code = ctypes.create_string_buffer(program, len(program))
        header = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
        # 1, 1: SECCOMP_SET_MODE_FILTER for all threads.
        if system(request["seccomp"], 1, 1, ctypes.c_char_p(header)) != 0:
            raise Refused(f"this machine has no seccomp ({os.strerror(ctypes.get_errno())}), and so no functions in Python")


def error_of(error: BaseException, file: str) -> dict:
    """The text of an error, with the lines of the function that led to it."""
    if isinstance(error, Refused):
        return {"error": str(error)[:4096]}
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != file:
        trace = trace.tb_next
    lines = "".join(traceback.format_exception(type(error), error, trace, limit=50))
    text = "".join(traceback.format_exception_only(type(error), error)).strip().splitlines()[-1]
    return {"error": text[:4096], "traceback": lines[-16384:] if trace or isinstance(error, SyntaxError) else None}


def main() -> None:
    channel = Channel()
    status = open("/proc/self/status")
    reads_only_libraries = restrict()
    try:
        global pa
        import pyarrow as pa
        import pyarrow.compute  # noqa: F401
    except ImportError as error:
        channel.send({"error": f"functions in Python need the package pyarrow: {error}"})
        return
    channel.send({"ready": True})
    request = channel.receive()
    function = Function(request, channel)
    try:
        function.prepare()
        lock(request, reads_only_libraries, status)
        function.load()
        channel.send({})
    except BaseException as error:
        channel.send(error_of(error, function.file))
        return
    while True:
        answer(channel, function)


def answer(channel: Channel, function: Function) -> None:
    """One call. Its arguments and results are gone at the end."""
    request = channel.receive()
    # Without the engine nobody else would end it.
    signal.alarm(min(request["time_s"], TIME_MAX_S))
    try:
        batches, results = function.run(request, channel.sources)
        reply, buffers = {"batches": batches}, results.buffers
    except BaseException as error:
        reply, buffers = error_of(error, function.file), []
    signal.alarm(0)
    try:
        channel.send(reply, buffers)
    except OSError as error:
        channel.send({"error": f"there is no room for its result: {error}"})


main()
