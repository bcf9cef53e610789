//! Arguments as a process sees them: descriptions of arrays, whose buffers lie in the file of arguments or in files that are passed on.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use arrow::array::ArrayData;
use arrow::buffer::{BooleanBuffer, Buffer};
use arrow::datatypes::{DataType, Schema};
use serde::Serialize;

use super::pass_files::FILES_MAX;
use common::memory::LiveMemory;

const ALIGNMENT: u64 = 64;
/// A smaller buffer is copied sooner than its file is mapped.
const IN_PLACE_BYTES_MIN: usize = 4 << 10;

/// `[length, nulls, offset, buffers, children]`
#[derive(Serialize)]
pub struct ArrayDescription(usize, usize, usize, Vec<Option<BufferDescription>>, Vec<ArrayDescription>);

/// `[source, start, bytes]`; source 0 is the file of arguments.
#[derive(Serialize)]
pub struct BufferDescription(usize, u64, usize);

impl ArrayDescription {
    /// Whether the rows of `next` follow those of this one in the same file. Both are of a type whose values all have the same width.
    fn is_followed_by(&self, next: &ArrayDescription) -> bool {
        let is_plain = |array: &ArrayDescription| array.1 == 0 && array.2 == 0;
        let follows = |(one, other): (&Option<BufferDescription>, &Option<BufferDescription>)| match (one, other) {
            (None, None) => true,
            (Some(one), Some(other)) => one.0 != 0 && one.0 == other.0 && one.1 + one.2 as u64 == other.1,
            _ => false,
        };
        is_plain(self)
            && is_plain(next)
            && self.3.iter().zip(&next.3).all(follows)
            && self.4.iter().zip(&next.4).all(|(one, other)| one.is_followed_by(other))
    }

    fn extend(&mut self, next: &ArrayDescription) {
        self.0 += next.0;
        for (buffer, next) in self.3.iter_mut().zip(&next.3) {
            if let (Some(buffer), Some(next)) = (buffer, next) {
                buffer.2 += next.2;
            }
        }
        self.4.iter_mut().zip(&next.4).for_each(|(child, next)| child.extend(next));
    }
}

/// A batch of the engine is small beside the piece of a segment that it was cut from: batches that follow each other there become one.
pub fn add_batch(batches: &mut Vec<Vec<ArrayDescription>>, batch: Vec<ArrayDescription>, schema: &Schema) {
    let has_fixed_width = schema.fields().iter().all(|field| is_fixed_width(field.data_type()));
    match batches.last_mut() {
        Some(last) if has_fixed_width && !batch.is_empty() && last.iter().zip(&batch).all(|(one, other)| one.is_followed_by(other)) => {
            last.iter_mut().zip(&batch).for_each(|(column, next)| column.extend(next));
        }
        _ => batches.push(batch),
    }
}

fn is_fixed_width(data_type: &DataType) -> bool {
    match data_type {
        DataType::FixedSizeList(field, _) => is_fixed_width(field.data_type()),
        DataType::Struct(fields) => fields.iter().all(|field| is_fixed_width(field.data_type())),
        other => other.is_primitive(),
    }
}

/// The files of segments that a process has mapped; the first is its source 1.
#[derive(Default)]
pub struct MappedFiles {
    paths: Vec<PathBuf>,
    /// Those that it has to map for the next call.
    pub new: Vec<File>,
}

impl MappedFiles {
    pub fn count(&self) -> usize {
        self.paths.len()
    }

    pub fn clear(&mut self) {
        self.paths.clear();
        self.new.clear();
    }

    /// The number of the source; `None` if its name leads to no file any more, or if the call passes on as many files as it can.
    fn source(&mut self, path: &Path) -> Option<usize> {
        let known = self.paths.iter().position(|known| known == path);
        let at = match known {
            Some(at) => at,
            // One more is the file for results.
            None if self.new.len() + 1 >= FILES_MAX => return None,
            None => {
                self.new.push(File::open(path).ok()?);
                self.paths.push(path.to_path_buf());
                self.paths.len() - 1
            }
        };
        Some(at + 1)
    }
}

/// Writes the arguments of one call.
pub struct ArgumentWriter<'a> {
    file: &'a File,
    /// Where the next piece begins.
    pub end: u64,
    files: &'a mut MappedFiles,
    in_place: Option<&'a LiveMemory>,
}

impl<'a> ArgumentWriter<'a> {
    pub fn new(file: &'a File, files: &'a mut MappedFiles, in_place: Option<&'a LiveMemory>) -> ArgumentWriter<'a> {
        ArgumentWriter { file, end: 0, files, in_place }
    }

    /// Where it begins.
    pub fn put(&mut self, bytes: &[u8]) -> io::Result<u64> {
        let start = self.end;
        self.file.write_all_at(bytes, start)?;
        self.end = (start + bytes.len() as u64).next_multiple_of(ALIGNMENT);
        Ok(start)
    }

    pub fn array(&mut self, data: &ArrayData) -> io::Result<ArrayDescription> {
        // The bits of the validity may begin elsewhere than the values.
        let validity = data.nulls().map(|nulls| match data.offset() {
            offset if nulls.offset() == offset => nulls.buffer().clone(),
            0 => nulls.inner().sliced(),
            offset => BooleanBuffer::from_iter(std::iter::repeat_n(true, offset).chain(nulls.iter())).into_inner(),
        });
        // An array of NULLs has none, and pyarrow expects one all the same.
        let mut buffers = vec![validity.as_ref().map(|buffer| self.buffer(buffer)).transpose()?];
        for buffer in data.buffers() {
            buffers.push(Some(self.buffer(buffer)?));
        }
        let children = data.child_data().iter().map(|child| self.array(child)).collect::<io::Result<_>>()?;
        Ok(ArrayDescription(data.len(), data.null_count(), data.offset(), buffers, children))
    }

    fn buffer(&mut self, buffer: &Buffer) -> io::Result<BufferDescription> {
        if buffer.len() >= IN_PLACE_BYTES_MIN
            && let Some((path, start)) = self.in_place.and_then(|segments| segments.file_of(buffer))
            && let Some(source) = self.files.source(path)
        {
            return Ok(BufferDescription(source, start as u64, buffer.len()));
        }
        Ok(BufferDescription(0, self.put(buffer.as_slice())?, buffer.len()))
    }
}
