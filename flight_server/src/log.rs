//! Log lines on standard error.

use tracing_subscriber::EnvFilter;

#[derive(Debug, Clone)]
pub struct LogOptions {
    /// As in `info` or `warn,flight_server=debug`.
    pub level: String,
    /// `text` or `json`.
    pub format: String,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions { level: "warn".to_string(), format: "text".to_string() }
    }
}

/// For the whole process. False where the level makes no sense.
pub fn log_to_stderr(options: &LogOptions) -> bool {
    let Ok(filter) = EnvFilter::try_new(&options.level) else { return false };
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    // Of a line that cannot be written it says so on standard error, and panics where that is on a full disk.
    let subscriber = subscriber.log_internal_errors(false);
    // Somebody else in the process may log already: then theirs stays.
    let _ = match options.format.as_str() {
        "json" => subscriber.json().try_init(),
        _ => subscriber.try_init(),
    };
    true
}
