//! Shows results that do not fit on the screen in `$PAGER`, or in `less`.

use std::io::{self, Write};
use std::process::{Child, Command, Stdio};

use terminal_size::{Height, Width, terminal_size};

/// Keeps colours, scrolls long lines sideways, and leaves the text on the screen. Not
/// `F`: only texts that do not fit get here, and with it some versions quit on wide tables.
const LESS_OPTIONS: &str = "SRX";

/// Buffers one screenful. More text starts the pager.
pub struct Pager<'a> {
    screen: &'a mut dyn Write,
    state: PagerState,
    /// The columns and rows of the screen.
    size: (usize, usize),
}

enum PagerState {
    Holding(Vec<u8>),
    Paging(Child),
    /// No pager is installed.
    Direct,
}

impl<'a> Pager<'a> {
    pub fn new(screen: &'a mut dyn Write) -> Self {
        let (Width(width), Height(height)) = terminal_size().unwrap_or((Width(80), Height(24)));
        let size = (usize::from(width), usize::from(height));
        Pager { screen, state: PagerState::Holding(Vec::new()), size }
    }

    /// Writes the buffered text, or waits until the user leaves the pager.
    pub fn close(self) -> io::Result<()> {
        if let PagerState::Holding(buffered) = &self.state {
            self.screen.write_all(buffered)?;
        }
        self.screen.flush()
        // Dropping waits for the pager.
    }

    /// Starts the pager, or writes to the screen if there is none, and passes on the buffered text.
    fn overflow(&mut self, buffered: &[u8]) -> io::Result<()> {
        let started = command().and_then(|mut command| command.stdin(Stdio::piped()).spawn().ok());
        self.state = started.map_or(PagerState::Direct, PagerState::Paging);
        self.write_all(buffered)
    }
}

/// Two lines of the screen are reserved for the prompt.
fn fits(buffered: &[u8], (width, height): (usize, usize)) -> bool {
    let text = String::from_utf8_lossy(buffered);
    let is_short = text.lines().count() + 2 <= height;
    is_short && text.lines().all(|line| visible_chars(line) <= width)
}

impl Write for Pager<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.state {
            PagerState::Direct => self.screen.write_all(bytes)?,
            PagerState::Paging(child) => {
                if let Some(stdin) = &mut child.stdin {
                    stdin.write_all(bytes)?;
                }
            }
            PagerState::Holding(buffered) => {
                buffered.extend_from_slice(bytes);
                if bytes.contains(&b'\n') && !fits(buffered, self.size) {
                    let buffered = std::mem::take(buffered);
                    self.overflow(&buffered)?;
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Ends the pager's input and waits for the user to leave it, even if the query failed.
impl Drop for Pager<'_> {
    fn drop(&mut self) {
        if let PagerState::Paging(child) = &mut self.state {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

fn command() -> Option<Command> {
    let setting = ["QUIVER_PAGER", "PAGER"].iter().find_map(std::env::var_os);
    let pager = match setting.filter(|pager| !pager.is_empty()) {
        Some(pager) => pager,
        None if is_installed("less") => "less".into(),
        None => return None,
    };
    let mut command = Command::new("sh");
    command.arg("-c").arg(pager);
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS_OPTIONS);
    }
    Some(command)
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// Colour codes have no width.
fn visible_chars(line: &str) -> usize {
    let mut in_code = false;
    let visible = line.chars().filter(|sign| {
        let was_code = in_code || *sign == '\u{1b}';
        in_code = was_code && !sign.is_ascii_alphabetic();
        !was_code
    });
    visible.count()
}
