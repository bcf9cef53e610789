//! Readers of foreign bytes may panic; the caller gets an error instead.

use std::convert::Infallible;

use tonic::Status;

/// Runs `read`; a panic becomes the error of a message that makes no sense, and does not fill the log. What `read`
/// worked on may be half changed then, so every caller drops it.
pub fn guarded<T>(read: impl FnOnce() -> T) -> Result<T, Status> {
    engine::import::guarded(|| Ok::<T, Infallible>(read()))
        .map_err(|_| Status::invalid_argument("the Arrow data of a message makes no sense; send what an Arrow library has written"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_over_foreign_bytes_is_an_error() {
        let status = guarded(|| -> u8 { panic!("index 7 out of range") }).unwrap_err();
        assert_eq!(status.code(), tonic::Code::InvalidArgument);
        assert_eq!(guarded(|| 1).unwrap(), 1);
    }
}
