//! The catalog's file on a simulated disk, where calls and the power fail.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use redb::StorageBackend;

use crate::region::simulated::{Disk, Trace};

/// Writes through to the file, so that readers see it, and remembers which bytes are durable.
#[derive(Debug)]
pub struct SimulatedFile {
    file: File,
    trace: Trace,
}

impl SimulatedFile {
    pub fn new(path: &Path, file: File, disk: &Disk) -> io::Result<SimulatedFile> {
        let trace = Trace::on(disk, path, || std::fs::read(path))?;
        Ok(SimulatedFile { file, trace })
    }
}

impl StorageBackend for SimulatedFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.trace.call()?;
        self.file.read_exact_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.trace.set_len(len as usize)?;
        self.file.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.trace.sync_all()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.trace.write(&self.file, offset, data)
    }
}
