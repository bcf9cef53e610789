//! A message with descriptors of files, which the standard library cannot send yet.

use std::fs::File;
use std::io;
use std::mem::{size_of, size_of_val};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

/// The kernel passes on a few more in one message.
pub const FILES_MAX: usize = 250;

/// Sends the message, which fits into the buffer of a socket whose other end reads, and with it the descriptors of at most [`FILES_MAX`] files.
pub fn send_with_files(socket: &UnixStream, message: &[u8], files: &[File]) -> io::Result<()> {
    let descriptors: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
    let bytes = size_of_val(descriptors.as_slice()) as u32;
    // SAFETY: these compute sizes alone. Held by `descriptors_arrive_with_their_message`.
    let (space, length) = unsafe { (libc::CMSG_SPACE(bytes) as usize, libc::CMSG_LEN(bytes)) };
    // Words, so that the header is aligned.
    let mut control = vec![0_u64; space.div_ceil(size_of::<u64>())];
    let mut part = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
    // SAFETY: zeros are a message without anything. Held by `descriptors_arrive_with_their_message`.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    if !descriptors.is_empty() {
        header.msg_control = control.as_mut_ptr().cast();
        header.msg_controllen = space as _;
        // SAFETY: the control buffer is aligned and has room for one header with these descriptors, as CMSG_SPACE computed. Held by
        // `descriptors_arrive_with_their_message`.
        unsafe {
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = length as _;
            std::ptr::copy_nonoverlapping(descriptors.as_ptr().cast::<u8>(), libc::CMSG_DATA(first), bytes as usize);
        }
    }
    // SAFETY: all that the header points to lives until the end of this function, and the kernel only reads it. Held by
    // `descriptors_arrive_with_their_message`.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) };
    match usize::try_from(sent) {
        Ok(sent) if sent == message.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::{FromRawFd, OwnedFd};

    use super::*;

    /// The message, and one descriptor that came with it.
    fn received(socket: &UnixStream, message: &mut [u8]) -> Option<OwnedFd> {
        let mut control = [0_u64; 8];
        let mut part = libc::iovec { iov_base: message.as_mut_ptr().cast(), iov_len: message.len() };
        // SAFETY: as in `send_with_files`; the descriptor that the kernel wrote is owned by nobody else. Held by
        // `descriptors_arrive_with_their_message`.
        unsafe {
            let mut header: libc::msghdr = std::mem::zeroed();
            (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
            (header.msg_control, header.msg_controllen) = (control.as_mut_ptr().cast(), size_of_val(&control) as _);
            assert_eq!(libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0), message.len() as isize);
            let first = libc::CMSG_FIRSTHDR(&raw const header);
            (!first.is_null()).then(|| OwnedFd::from_raw_fd(std::ptr::read_unaligned(libc::CMSG_DATA(first).cast::<RawFd>())))
        }
    }

    #[test]
    fn descriptors_arrive_with_their_message() {
        let (one, other) = UnixStream::pair().unwrap();
        let path = std::env::temp_dir().join(format!("quiver-test-{}", std::process::id()));
        std::fs::write(&path, "what lies in the file").unwrap();
        send_with_files(&one, b"first", &[File::open(&path).unwrap()]).unwrap();
        std::fs::remove_file(&path).unwrap();
        let mut message = [0; 5];
        let mut content = String::new();
        File::from(received(&other, &mut message).unwrap()).read_to_string(&mut content).unwrap();
        assert_eq!((&message, content.as_str()), (b"first", "what lies in the file"));
        send_with_files(&one, b"again", &[]).unwrap();
        assert!(received(&other, &mut message).is_none());
        assert_eq!(&message, b"again");
    }

    #[test]
    fn who_does_not_read_is_no_reason_to_wait() {
        let (one, _other) = UnixStream::pair().unwrap();
        let sent = (0..1_000_000).map(|_| send_with_files(&one, &[0; 16], &[])).find(Result::is_err);
        assert_eq!(sent.unwrap().unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }
}
