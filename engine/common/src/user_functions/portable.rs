//! What another engine needs to make the same function.

use arrow::buffer::Buffer;

/// The definition of a function that is not in SQL.
#[derive(Debug, Clone, PartialEq)]
pub struct PortableFunction {
    pub name: String,
    /// `wasm` or `python`.
    pub language: &'static str,
    /// The statement that creates it.
    pub text: String,
    /// The module, whose hash is in the text.
    pub module: Option<Buffer>,
    /// SHA-256 of the text, in hexadecimal digits.
    pub hash: String,
    /// Whether it came with a plan, and is not in the store.
    pub is_sent: bool,
}

impl PortableFunction {
    pub fn size_bytes(&self) -> usize {
        self.text.len() + self.module.as_ref().map_or(0, Buffer::len)
    }
}
