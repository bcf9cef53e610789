//! Results that do not fit on the screen go through `$PAGER`, or `less`.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use terminal_size::{Height, Width, terminal_size};

/// Colours pass, long lines scroll sideways, the text stays on the screen afterwards. Without
/// `F`: only what does not fit gets here, and with it some versions quit on wide tables.
const LESS_OPTIONS: &str = "SRX";

/// Holds back one screenful; what comes after it starts the pager.
pub struct Pager<'a> {
    screen: &'a mut dyn Write,
    held: Vec<u8>,
    size: (usize, usize),
    child: Option<Child>,
}

impl<'a> Pager<'a> {
    pub fn new(screen: &'a mut dyn Write) -> Self {
        let (Width(width), Height(height)) = terminal_size().unwrap_or((Width(80), Height(24)));
        let size = (usize::from(width), usize::from(height));
        Pager { screen, held: Vec::new(), size, child: None }
    }

    /// Writes what is held back and waits until the user leaves the pager.
    pub fn close(mut self) -> io::Result<()> {
        match self.child.take() {
            Some(mut child) => {
                drop(child.stdin.take());
                child.wait().map(drop)
            }
            None => self.screen.write_all(&self.held),
        }
    }

    /// The prompt needs two lines of the screen.
    fn fits(&self) -> bool {
        let (width, height) = self.size;
        let text = String::from_utf8_lossy(&self.held);
        let mut lines = 0;
        text.lines().all(|line| {
            lines += 1;
            lines + 2 <= height && visible_chars(line) <= width
        })
    }

    fn start(&mut self) -> io::Result<()> {
        let mut child = command().stdin(Stdio::piped()).spawn()?;
        if let Some(stdin) = &mut child.stdin {
            stdin.write_all(&std::mem::take(&mut self.held))?;
        }
        self.child = Some(child);
        Ok(())
    }
}

impl Write for Pager<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(stdin) = self.child.as_mut().and_then(|child| child.stdin.as_mut()) {
            stdin.write_all(bytes)?;
            return Ok(bytes.len());
        }
        self.held.extend_from_slice(bytes);
        if bytes.contains(&b'\n') && !self.fits() && self.start().is_err() {
            // No pager on this machine: the screen will do.
            let held = std::mem::take(&mut self.held);
            self.size = (usize::MAX, usize::MAX);
            self.screen.write_all(&held)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A query that fails or is cancelled must not leave a pager without a parent.
impl Drop for Pager<'_> {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

fn command() -> Command {
    let wanted = ["QUIVER_PAGER", "PAGER"].iter().find_map(std::env::var_os);
    let mut command = Command::new("sh");
    command.arg("-c");
    match wanted.filter(|pager| !pager.is_empty()) {
        Some(pager) => command.arg(pager),
        None => command.arg("less"),
    };
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS_OPTIONS);
    }
    command
}

/// Colour codes take no place.
fn visible_chars(line: &str) -> usize {
    let mut in_code = false;
    let visible = line.chars().filter(|sign| {
        let was_code = in_code || *sign == '\u{1b}';
        in_code = was_code && !sign.is_ascii_alphabetic();
        !was_code
    });
    visible.count()
}
