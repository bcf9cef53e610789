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
    state: PagerState,
    /// Columns and rows of the screen.
    size: (usize, usize),
}

enum PagerState {
    Holding(Vec<u8>),
    Paging(Child),
    /// There is no pager on this machine.
    Direct,
}

impl<'a> Pager<'a> {
    pub fn new(screen: &'a mut dyn Write) -> Self {
        let (Width(width), Height(height)) = terminal_size().unwrap_or((Width(80), Height(24)));
        let size = (usize::from(width), usize::from(height));
        Pager { screen, state: PagerState::Holding(Vec::new()), size }
    }

    /// Writes what is held back, or waits until the user leaves the pager.
    pub fn close(self) -> io::Result<()> {
        if let PagerState::Holding(held) = &self.state {
            self.screen.write_all(held)?;
        }
        self.screen.flush()
        // Dropping waits for the pager.
    }

    /// Starts the pager, or does without, and gives it what was held back.
    fn overflow(&mut self, held: &[u8]) -> io::Result<()> {
        let started = command().and_then(|mut command| command.stdin(Stdio::piped()).spawn().ok());
        self.state = started.map_or(PagerState::Direct, PagerState::Paging);
        self.write_all(held)
    }
}

/// Two lines of the screen are left to the prompt.
fn fits(held: &[u8], (width, height): (usize, usize)) -> bool {
    let text = String::from_utf8_lossy(held);
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
            PagerState::Holding(held) => {
                held.extend_from_slice(bytes);
                if bytes.contains(&b'\n') && !fits(held, self.size) {
                    let held = std::mem::take(held);
                    self.overflow(&held)?;
                }
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Ends the pager's input and waits for the user to leave it, also when the query failed.
impl Drop for Pager<'_> {
    fn drop(&mut self) {
        if let PagerState::Paging(child) = &mut self.state {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

fn command() -> Option<Command> {
    let wanted = ["QUIVER_PAGER", "PAGER"].iter().find_map(std::env::var_os);
    let pager = match wanted.filter(|pager| !pager.is_empty()) {
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
