//! A thread that builds the index of a segment while its rows are written.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use arrow::array::{AsArray, BinaryViewArray, RecordBatch};
use arrow::datatypes::Schema;

use super::build::{AttributeIndexBuilder, indexed_column};
use crate::error::{Result, StoreError};

/// One batch waits while another one is added: more would only take memory.
const QUEUED_BATCHES: usize = 1;

pub struct AttributeIndexThread {
    column: usize,
    messages: Option<SyncSender<Message>>,
    thread: Option<JoinHandle<Result<Option<RecordBatch>>>>,
}

enum Message {
    Add(BinaryViewArray),
    Finish,
}

impl AttributeIndexThread {
    /// `None` if the schema has no column that is to be indexed.
    pub fn of(schema: &Schema, segment: &Path) -> Result<Option<AttributeIndexThread>> {
        let Some(column) = indexed_column(schema) else { return Ok(None) };
        let (messages, received) = sync_channel(QUEUED_BATCHES);
        let thread = Builder::new().name("quiver-index".into()).spawn(move || build(&received));
        let thread =
            thread.map_err(|source| StoreError::Io { action: "start the thread that indexes", path: segment.to_path_buf(), source })?;
        Ok(Some(AttributeIndexThread { column, messages: Some(messages), thread: Some(thread) }))
    }

    /// An error of the thread shows when the index is finished.
    pub fn add(&self, batch: &RecordBatch) {
        self.send(Message::Add(batch.column(self.column).as_binary_view().clone()));
    }

    pub fn finish(mut self) -> Result<Option<RecordBatch>> {
        self.send(Message::Finish);
        let built = self.thread.take().map(JoinHandle::join);
        built.unwrap_or(Ok(Ok(None))).unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// A thread that has ended takes nothing more: its error shows when it is joined.
    fn send(&self, message: Message) {
        let _ = self.messages.as_ref().map(|messages| messages.send(message));
    }
}

impl Drop for AttributeIndexThread {
    /// If the segment was given up, its batches are given back before the writer is gone.
    fn drop(&mut self) {
        self.messages = None;
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// `None` if the segment was given up.
fn build(messages: &Receiver<Message>) -> Result<Option<RecordBatch>> {
    let mut index = AttributeIndexBuilder::default();
    while let Ok(message) = messages.recv() {
        match message {
            Message::Add(packed) => index.add(&packed)?,
            Message::Finish => return index.finish().map(Some),
        }
    }
    Ok(None)
}
