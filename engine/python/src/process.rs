//! One process, with the function that it serves.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::buffer::Buffer;
use arrow::datatypes::Schema;
use arrow::ipc::writer::StreamWriter;
use datafusion::execution::memory_pool::MemoryReservation;
use rustix::fs::{MemfdFlags, memfd_create};
use serde::Serialize;
use serde_json::json;

use super::arguments::{ArgumentWriter, ArrayDescription, MappedFiles, add_batch};
use super::definition::{Definition, Request};
use super::error::{PythonError, invalid};
use super::pass_files::{FILES_MAX, send_with_files};
use super::results::{Content, Reply};
use super::seccomp::{self, Filters};
use super::session_requests::{SessionHandler, SessionRows};
use common::memory::LiveMemory;
use common::user_functions::{as_type, plain_field};

const PROGRAM: &str = include_str!("../worker.py");
/// How often a call looks whether it is to stop.
const TICK: Duration = Duration::from_millis(10);
/// The imports of a library may take long on a slow disk.
const START_TIME_MAX: Duration = Duration::from_secs(60);
/// Beyond the limit of a call, the process ends by itself if the engine is gone.
const GRACE_S: u64 = 10;
/// Allocations up to this size, in bytes, come from memory that was used before: the largest that glibc permits.
const REUSED_BYTES_MAX: &str = "33554432";
/// How much free memory, in bytes, a process keeps.
const FREE_BYTES_MAX: &str = "67108864";
/// Files in memory that are larger are emptied after a call.
const KEPT_BYTES_MAX: u64 = 32 << 20;

pub struct Process {
    child: Child,
    socket: UnixStream,
    arguments: File,
    results: File,
    /// Whether the process does not have that file yet.
    has_new_results: bool,
    mapped: MappedFiles,
    memory_bytes: u64,
    time: Duration,
}

/// What bounds a call, beside the limits of its function.
pub struct CallContext<'a> {
    /// The memory of the statement.
    pub reservation: &'a MemoryReservation,
    pub is_cancelled: &'a dyn Fn() -> bool,
}

#[derive(Serialize)]
struct Call<'a> {
    #[serde(flatten)]
    request: &'a Request,
    /// The columns of each batch of each input.
    inputs: Vec<Vec<Vec<ArrayDescription>>>,
    is_table: &'a [bool],
    time_s: u64,
    /// Whether the files that were passed on before are needed no more.
    forget: bool,
}

impl Process {
    /// A process that has loaded its libraries and waits for its function.
    pub fn start(interpreter: &Path, threads: usize) -> Result<Process, PythonError> {
        let (socket, other) = UnixStream::pair()?;
        socket.set_read_timeout(Some(TICK))?;
        let (arguments, results) = (memory_file("quiver-arguments", MemfdFlags::CLOEXEC)?, results_file()?);
        let stdio = |file: &File| -> io::Result<Stdio> { Ok(Stdio::from(file.try_clone()?)) };
        let threads = threads.to_string();
        let mut command = Command::new(interpreter);
        command.args(["-I", "-c", PROGRAM]).args(seccomp::LANDLOCK.map(|number| number.to_string()));
        // Ctrl-C in a terminal is for the engine.
        command.env_clear().current_dir("/").process_group(0);
        // Libraries have as many threads as those of the engine's process, or as a query.
        for name in ["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"] {
            command.env(name, std::env::var(name).as_deref().unwrap_or(&threads));
        }
        // An arena of memory for each thread counts against the limit.
        command.env("MALLOC_ARENA_MAX", "2");
        // What an expression allocates for a moment is reused, and not given back to the system, which would clear it again.
        command.env("MALLOC_MMAP_THRESHOLD_", REUSED_BYTES_MAX).env("MALLOC_TRIM_THRESHOLD_", FREE_BYTES_MAX);
        command.stdin(Stdio::from(OwnedFd::from(other))).stdout(stdio(&arguments)?).stderr(stdio(&results)?);
        let child = command.spawn().map_err(|source| PythonError::Start { path: interpreter.to_path_buf(), source })?;
        // The copies of the descriptors here are closed, so that the end of the process is seen.
        drop(command);
        let (mapped, memory_bytes) = (MappedFiles::default(), 0);
        let mut process = Process { child, socket, arguments, results, has_new_results: false, mapped, memory_bytes, time: START_TIME_MAX };
        process.reply(START_TIME_MAX, &|| false)?;
        Ok(process)
    }

    /// Loads the function; from then on the process can only compute.
    pub fn define(&mut self, definition: &Definition, imports: &[String], is_cancelled: &dyn Fn() -> bool) -> Result<(), PythonError> {
        let filters = Filters::of(self.child.id())?;
        let mut writer = ArgumentWriter::new(&self.arguments, &mut self.mapped, None);
        let mut schemas = Vec::new();
        for schema in definition.inputs.iter().chain([&definition.returns]) {
            let message = schema_message(schema)?;
            schemas.push((writer.put(&message)?, message.len()));
        }
        let Definition { name, kind, symbol, source, limits, .. } = definition;
        let request = json!({
            "name": name,
            "kind": kind.word(),
            "symbol": symbol,
            "source": source,
            "schemas": schemas,
            "imports": imports,
            "memory_bytes": limits.memory_bytes,
            "filters": [filters.with_files, filters.without_files],
            "seccomp": seccomp::INSTALL,
        });
        let text = request.to_string();
        let start = writer.put(text.as_bytes())?;
        self.send(start, text.len())?;
        self.memory_bytes = limits.memory_bytes as u64;
        self.time = Duration::from_millis(limits.time_ms);
        self.reply(self.time, is_cancelled).map(drop)
    }

    /// Calls its function. After an error of the process, and not of the function, it must not be used again.
    pub fn call(
        &mut self,
        definition: &Definition,
        request: &Request,
        inputs: &[Vec<Vec<ArrayRef>>],
        in_place: Option<&LiveMemory>,
        context: &CallContext<'_>,
        session: Option<&mut SessionHandler<'_>>,
    ) -> Result<Vec<RecordBatch>, PythonError> {
        let forget = self.forgets_files();
        let mut writer = ArgumentWriter::new(&self.arguments, &mut self.mapped, in_place);
        let mut described = Vec::with_capacity(inputs.len());
        for (batches, schema) in inputs.iter().zip(&definition.inputs) {
            let mut of_input = Vec::with_capacity(batches.len());
            for batch in batches {
                write_batch(&mut writer, &mut of_input, batch, schema, context.reservation)?;
            }
            described.push(of_input);
        }
        let time_s = self.time.as_secs() + GRACE_S;
        let text = serde_json::to_vec(&Call { request, inputs: described, is_table: &definition.is_table, time_s, forget });
        let text = text.map_err(|error| PythonError::Ended(error.to_string()))?;
        let start = writer.put(&text)?;
        let end = writer.end as usize;
        self.send(start, text.len())?;
        let (reply, content) = self.last_reply(end as u64, context, session)?;
        reserve(context.reservation, end + content.len())?;
        reply.batches(&content, &definition.returns)
    }

    /// Whether the process is to forget the files that were passed on before: each message passes on a limited number, and each process has a
    /// limited number of mappings.
    fn forgets_files(&mut self) -> bool {
        let forget = self.mapped.count() >= FILES_MAX / 2;
        if forget {
            self.mapped.clear();
        }
        forget
    }

    /// The result of a call, after all that a procedure asks for. The time that a statement takes is not the function's.
    fn last_reply(
        &mut self,
        arguments_end: u64,
        context: &CallContext<'_>,
        mut session: Option<&mut SessionHandler<'_>>,
    ) -> Result<(Reply, Buffer), PythonError> {
        let mut time_left = self.time;
        loop {
            let start = Instant::now();
            let (mut reply, content) = self.reply(time_left, context.is_cancelled)?;
            time_left = time_left.saturating_sub(start.elapsed());
            let Some(request) = reply.session_request(&content)? else { return Ok((reply, content)) };
            let Some(handler) = session.as_mut() else { return Err(invalid("only a procedure runs statements")) };
            reserve(context.reservation, arguments_end as usize + content.len())?;
            let answer = handler(request)?;
            self.answer(arguments_end, answer, context)?;
        }
    }

    /// Sends rows to a procedure, which copies what lies in the file of arguments: the next ones lie at the same place.
    fn answer(&mut self, arguments_end: u64, answer: Result<SessionRows, String>, context: &CallContext<'_>) -> Result<(), PythonError> {
        let forget = self.forgets_files();
        let nothing = LiveMemory::default();
        let in_place = answer.as_ref().map_or(&nothing, |rows| &rows.in_place);
        let mut writer = ArgumentWriter::new(&self.arguments, &mut self.mapped, Some(in_place));
        writer.end = arguments_end;
        let answer = match &answer {
            Err(error) => json!({ "error": error, "forget": forget }),
            Ok(SessionRows { schema, batches, .. }) => {
                let schema = Schema::new(schema.fields().iter().map(plain_field).collect::<Vec<_>>());
                let message = schema_message(&schema)?;
                let schema_at = (writer.put(&message)?, message.len());
                let mut described = Vec::new();
                for batch in batches {
                    if (context.is_cancelled)() {
                        return Err(PythonError::Cancelled);
                    }
                    write_batch(&mut writer, &mut described, batch.columns(), &schema, context.reservation)?;
                }
                json!({ "schema": schema_at, "batches": described, "forget": forget })
            }
        };
        let text = answer.to_string();
        let start = writer.put(text.as_bytes())?;
        self.send(start, text.len())
    }

    /// Says where a text lies in the file of arguments, and passes on new files: at the end that for results.
    fn send(&mut self, start: u64, bytes: usize) -> Result<(), PythonError> {
        let mut message = start.to_le_bytes().to_vec();
        message.extend((bytes as u64).to_le_bytes());
        let has_new_results = std::mem::take(&mut self.has_new_results);
        message.extend(u64::from(has_new_results).to_le_bytes());
        let mut files = std::mem::take(&mut self.mapped.new);
        if has_new_results {
            files.push(self.results.try_clone()?);
        }
        match send_with_files(&self.socket, &message, &files) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.ended()),
        }
    }

    /// Waits for the reply; an error if it is one.
    fn reply(&mut self, time: Duration, is_cancelled: &dyn Fn() -> bool) -> Result<(Reply, Buffer), PythonError> {
        let until = Instant::now() + time;
        let (mut message, mut read) = ([0; 16], 0);
        while read < message.len() {
            match self.socket.read(&mut message[read..]) {
                Ok(0) => return Err(self.ended()),
                Ok(bytes) => read += bytes,
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                    let stopped = match () {
                        () if is_cancelled() => PythonError::Cancelled,
                        () if Instant::now() >= until => PythonError::TimedOut { limit_ms: self.time.as_millis() as u64 },
                        () => continue,
                    };
                    let _ = self.child.kill();
                    return Err(stopped);
                }
                Err(_) => return Err(self.ended()),
            }
        }
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| message[at + byte]));
        let (reply, Content { buffer, is_sealed }) = Reply::read(&self.results, number(0), number(8), self.memory_bytes)?;
        if is_sealed {
            (self.results, self.has_new_results) = (results_file()?, true);
        }
        match reply.error {
            Some(message) => Err(PythonError::Failed { message, traceback: reply.traceback }),
            None => Ok((reply, buffer)),
        }
    }

    pub fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// How the process has ended; if it has not, it is killed.
    fn ended(&mut self) -> PythonError {
        // Its socket is closed a moment before it can be waited for.
        for _ in 0..50 {
            match self.child.try_wait() {
                Ok(Some(status)) => return PythonError::Ended(status.to_string()),
                _ => std::thread::sleep(Duration::from_millis(2)),
            }
        }
        let _ = self.child.kill();
        PythonError::Ended("it closed its socket".into())
    }

    /// Gives back the memory of large arguments and results, after a call.
    pub fn trim(&self) -> io::Result<()> {
        for file in [&self.arguments, &self.results] {
            if file.metadata()?.len() > KEPT_BYTES_MAX {
                file.set_len(0)?;
            }
        }
        Ok(())
    }
}

fn memory_file(name: &str, flags: MemfdFlags) -> io::Result<File> {
    Ok(File::from(memfd_create(name, flags)?))
}

fn results_file() -> io::Result<File> {
    memory_file("quiver-results", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
}

fn reserve(reservation: &MemoryReservation, bytes: usize) -> Result<(), PythonError> {
    reservation.try_resize(bytes).map_err(|error| PythonError::Memory(error.to_string()))
}

/// Writes the columns of a batch as plain types, and adds their descriptions.
fn write_batch(
    writer: &mut ArgumentWriter<'_>,
    described: &mut Vec<Vec<ArrayDescription>>,
    batch: &[ArrayRef],
    schema: &Schema,
    reservation: &MemoryReservation,
) -> Result<(), PythonError> {
    let mut columns = Vec::with_capacity(batch.len());
    for (column, field) in batch.iter().zip(schema.fields()) {
        columns.push(writer.array(&as_type(column, field.data_type())?.to_data())?);
        reserve(reservation, writer.end as usize)?;
    }
    add_batch(described, columns, schema);
    Ok(())
}

fn schema_message(schema: &Schema) -> Result<Vec<u8>, PythonError> {
    let mut message = Vec::new();
    StreamWriter::try_new(&mut message, schema)?.finish()?;
    Ok(message)
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
