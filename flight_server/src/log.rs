//! Log lines on standard error.

use tracing_subscriber::EnvFilter;

#[derive(Debug, Clone)]
pub struct LogOptions {
    /// A filter such as `info` or `warn,flight_server=debug`.
    pub level: String,
    /// `text` or `json`.
    pub format: String,
}

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions { level: "warn".to_string(), format: "text".to_string() }
    }
}

/// Sets up logging for the whole process. False if the level is invalid.
pub fn log_to_stderr(options: &LogOptions) -> bool {
    let Ok(filter) = EnvFilter::try_new(&options.level) else { return false };
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    // Internal errors are off: a failed write would be reported on standard error, which panics if that is a file on a full disk.
    let subscriber = subscriber.log_internal_errors(false);
    // If the process already has a subscriber, that one stays.
    let _ = match options.format.as_str() {
        "json" => subscriber.json().try_init(),
        _ => subscriber.try_init(),
    };
    true
}
