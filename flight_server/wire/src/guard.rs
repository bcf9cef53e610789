//! Catches panics of readers of foreign bytes, and returns an error instead.

use std::convert::Infallible;

use tonic::Status;

/// Runs `read`. A panic becomes the error of an invalid message, and does not fill the log. The state of `read`
/// may be inconsistent then, so every caller drops it.
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
