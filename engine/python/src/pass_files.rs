//! A message with descriptors of files, which the standard library cannot send yet.

use std::fs::File;
use std::io;
use std::mem::{size_of, size_of_val};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

/// The kernel passes on no more in one message.
pub const FILES_MAX: usize = 250;

/// Sends the message, which fits into the buffer of the socket, and with it the descriptors of at most [`FILES_MAX`] files.
pub fn send_with_files(socket: &UnixStream, message: &[u8], files: &[File]) -> io::Result<()> {
    let descriptors: Vec<RawFd> = files.iter().map(AsRawFd::as_raw_fd).collect();
    let bytes = size_of_val(descriptors.as_slice()) as u32;
    // SAFETY: these compute sizes alone.
    let (space, length) = unsafe { (libc::CMSG_SPACE(bytes) as usize, libc::CMSG_LEN(bytes)) };
    // Words, so that the header is aligned.
    let mut control = vec![0_u64; space.div_ceil(size_of::<u64>())];
    let mut part = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
    // SAFETY: zeros are a message without anything.
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
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const header, libc::MSG_NOSIGNAL) };
    match usize::try_from(sent) {
        Ok(sent) if sent == message.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::WriteZero.into()),
        Err(_) => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn descriptors_arrive_with_their_message() {
        let (one, mut other) = UnixStream::pair().unwrap();
        let before = std::fs::read_dir("/proc/self/fd").unwrap().count();
        let files: Vec<File> = (0..3).map(|_| File::open("/dev/null").unwrap()).collect();
        send_with_files(&one, b"three", &files).unwrap();
        drop(files);
        let mut message = [0; 5];
        // Who reads without room for descriptors gets the message alone, and the kernel closes them.
        other.read_exact(&mut message).unwrap();
        assert_eq!(&message, b"three");
        assert!(std::fs::read_dir("/proc/self/fd").unwrap().count() <= before + 2);
        send_with_files(&one, b"none", &[]).unwrap();
        other.read_exact(&mut message[..4]).unwrap();
        assert_eq!(&message[..4], b"none");
    }
}
