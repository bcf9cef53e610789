//! The memory of a module, whose addresses come from the module: each access is checked.

use super::error::WasmError;

pub struct GuestMemory<'a>(pub &'a [u8]);

impl GuestMemory<'_> {
    pub fn bytes(&self, address: u32, len: usize) -> Result<&[u8], WasmError> {
        let start = address as usize;
        let bytes = start.checked_add(len).and_then(|end| self.0.get(start..end));
        bytes.ok_or_else(|| WasmError::NoArray(format!("{len} bytes at {address} are not in the module's memory of {}", self.0.len())))
    }

    pub fn u32(&self, address: u32) -> Result<u32, WasmError> {
        let bytes = self.bytes(address, 4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    pub fn i64(&self, address: u32) -> Result<i64, WasmError> {
        let mut value = [0; 8];
        value.copy_from_slice(self.bytes(address, 8)?);
        Ok(i64::from_le_bytes(value))
    }

    /// A text that ends with a zero, up to some bytes of it.
    pub fn text(&self, address: u32, len_max: usize) -> Result<String, WasmError> {
        let rest = self.bytes(address, 0).map(|_| &self.0[address as usize..])?;
        let rest = &rest[..rest.len().min(len_max)];
        let len = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        Ok(String::from_utf8_lossy(&rest[..len]).into_owned())
    }
}
