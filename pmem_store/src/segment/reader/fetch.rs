//! What a segment whose rows lie in an object store has here, and what it fetches when a reader needs it.

use super::{Mapped, STEP_BYTES, Segment, StagedFile};
use crate::error::Result;
use crate::segment::MEMORY;
use crate::segment::checksum::verify_slice;
use crate::segment::compressed::compress;
use crate::segment::object_file::Fetched;
use crate::segment::staging::{is_local, metadata_of};

impl Segment {
    /// Fetches what a reader of these columns needs and is not here yet. There is nothing to fetch unless the rows lie in an object store.
    pub fn fetch(&self, batches: &[usize], projection: &[usize]) -> Result<Fetched> {
        let mapped = self.mapped()?;
        self.fetch_columns(&mapped, batches, projection)
    }

    /// Whether [`Segment::fetch`] would ask an object store.
    pub fn is_fetched(&self, index: usize, projection: &[usize]) -> bool {
        let Ok(mapped) = self.mapped() else { return true };
        mapped.partial().is_none() || self.missing(&mapped, &[index], projection).is_ok_and(|missing| missing.is_empty())
    }

    pub(super) fn fetch_columns(&self, mapped: &Mapped, batches: &[usize], projection: &[usize]) -> Result<Fetched> {
        let Some(staged) = mapped.partial() else { return Ok(Fetched::default()) };
        if self.missing(mapped, batches, projection)?.is_empty() {
            return Ok(Fetched::default());
        }
        let _one_at_a_time = staged.fetching.lock();
        self.fetch_entries(staged, &self.missing(mapped, batches, projection)?)
    }

    /// The entries of these columns that were not fetched, sorted.
    fn missing(&self, mapped: &Mapped, batches: &[usize], projection: &[usize]) -> Result<Vec<usize>> {
        let mut missing = self.entries_of(mapped, batches, projection)?;
        missing.retain(|index| !self.checksums.is_verified(*index));
        Ok(missing)
    }

    /// The entries of these columns, sorted.
    fn entries_of(&self, mapped: &Mapped, batches: &[usize], projection: &[usize]) -> Result<Vec<usize>> {
        let mut entries = Vec::new();
        for index in batches {
            // The lengths, and numbers of NULLs, of its arrays are those of its message, which is here.
            let batch = self.batch_at(mapped, *index)?;
            for column in projection {
                self.each_buffer(&mapped.bytes, &batch.column(*column).to_data(), &mut |offset| {
                    entries.push(self.checksums.index_at(&self.path, offset)?);
                    Ok(())
                })?;
            }
        }
        entries.sort_unstable();
        entries.dedup();
        Ok(entries)
    }

    fn fetch_entries(&self, staged: &StagedFile, indices: &[usize]) -> Result<Fetched> {
        if indices.is_empty() {
            return Ok(Fetched::default());
        }
        let fetched = staged.fetch(self.checksums.entries(), indices, |bytes, entry| verify_slice(&self.path, bytes, entry))?;
        indices.iter().for_each(|index| self.checksums.set_verified(*index));
        MEMORY.grow(&self.data, indices.iter().map(|index| self.checksums.entries()[*index].length).sum());
        Ok(fetched)
    }

    /// Fetches all that is not here yet.
    pub(super) fn fetch_all(&self, mapped: &Mapped, go_on: &mut dyn FnMut(u64) -> Result<()>) -> Result<()> {
        let Some(staged) = mapped.partial() else { return Ok(()) };
        let _one_at_a_time = staged.fetching.lock();
        let (mut step, mut step_bytes) = (Vec::new(), 0);
        for index in self.all_missing() {
            step.push(index);
            step_bytes += self.checksums.entries()[index].length;
            if step_bytes >= STEP_BYTES {
                self.fetch_entries(staged, &std::mem::take(&mut step))?;
                go_on(std::mem::take(&mut step_bytes))?;
            }
        }
        self.fetch_entries(staged, &step)?;
        go_on(step_bytes)
    }

    /// The entries of all columns that were not fetched.
    pub(super) fn all_missing(&self) -> Vec<usize> {
        let is_missing = |index: &usize| !self.checksums.entries()[*index].is_metadata && !self.checksums.is_verified(*index);
        (0..self.checksums.entries().len()).filter(is_missing).collect()
    }

    /// What stays in the store's directory when the rows go to an object store: the metadata of the file, and then the columns that are kept
    /// there.
    pub(crate) fn local_bytes(&self) -> Result<Vec<u8>> {
        let mapped = self.mapped()?;
        let mut bytes = metadata_of(&mapped.bytes, self.checksums.entries());
        for index in self.local_entries(&mapped)? {
            let entry = &self.checksums.entries()[index];
            bytes.extend_from_slice(&mapped.bytes[entry.offset as usize..(entry.offset + entry.length) as usize]);
        }
        Ok(bytes)
    }

    /// The file for an object store, and what [`Segment::local_bytes`] gets behind it; see `compressed.rs`.
    pub(crate) fn compressed(&self, rows: &[u8], go_on: &mut dyn FnMut(u64) -> Result<()>) -> Result<(Vec<u8>, Vec<u8>)> {
        compress(&self.path, rows, self.checksums.entries(), go_on)
    }

    fn local_entries(&self, mapped: &Mapped) -> Result<Vec<usize>> {
        let fields = self.layout.schema.fields().iter().enumerate();
        let columns: Vec<usize> = fields.filter(|(_, field)| is_local(field)).map(|(column, _)| column).collect();
        match columns.is_empty() {
            true => Ok(Vec::new()),
            false => self.entries_of(mapped, &(0..self.batch_count()).collect::<Vec<_>>(), &columns),
        }
    }

    /// Puts the columns that are kept in the store's directory where they are read. What is missing or damaged is fetched.
    pub(super) fn fill_local_columns(&self, mapped: &Mapped) -> Result<()> {
        let Some(staged) = mapped.partial() else { return Ok(()) };
        let mut rest = staged.local_columns.as_slice();
        for index in self.local_entries(mapped)? {
            let entry = &self.checksums.entries()[index];
            let Some((bytes, others)) = rest.split_at_checked(entry.length as usize) else { break };
            if verify_slice(&self.path, bytes, entry).is_ok() {
                staged.write(bytes, entry.offset)?;
                self.checksums.set_verified(index);
            }
            rest = others;
        }
        Ok(())
    }
}
