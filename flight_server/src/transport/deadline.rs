//! The deadline of a call by gRPC's header `grpc-timeout`, for the beginning of the answer. The client ends the call itself then;
//! this also ends the work for a client that was lost.

use std::future::Future;
use std::time::Duration;

use tonic::Status;
use tonic::codegen::http::HeaderMap;

const TIMEOUT: &str = "grpc-timeout";
/// The limit for digits of the number.
const DIGITS_MAX: usize = 8;

/// The result of the future, or an error if it takes too long.
pub async fn within_deadline<T>(wait: Option<Duration>, answer: impl Future<Output = T>) -> Result<T, Status> {
    let Some(wait) = wait else { return Ok(answer.await) };
    let late = |_| Status::deadline_exceeded("the call took longer than its client waits for it; give it more time");
    tokio::time::timeout(wait, answer).await.map_err(late)
}

/// `None` if the header is missing or invalid.
pub fn wait(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(TIMEOUT)?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.len() > DIGITS_MAX || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let number: u64 = digits.parse().ok()?;
    match unit {
        "H" => Some(Duration::from_secs(number * 60 * 60)),
        "M" => Some(Duration::from_secs(number * 60)),
        "S" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_millis(number)),
        "u" => Some(Duration::from_micros(number)),
        "n" => Some(Duration::from_nanos(number)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_timeout(text: &'static str) -> Option<Duration> {
        wait(&HeaderMap::from_iter([(TIMEOUT.parse().unwrap(), text.parse().unwrap())]))
    }

    #[test]
    fn a_timeout_has_a_unit_and_at_most_eight_digits() {
        assert_eq!(parse_timeout("2H"), Some(Duration::from_secs(7_200)));
        assert_eq!(parse_timeout("3M"), Some(Duration::from_secs(180)));
        assert_eq!(parse_timeout("99999999S"), Some(Duration::from_secs(99_999_999)));
        assert_eq!(parse_timeout("7m"), Some(Duration::from_millis(7)));
        assert_eq!(parse_timeout("8u"), Some(Duration::from_micros(8)));
        assert_eq!(parse_timeout("9n"), Some(Duration::from_nanos(9)));
        for senseless in ["", "S", "1", "1s", "-1S", "+1S", "1.5S", "999999999S", "1 S"] {
            assert_eq!(parse_timeout(senseless), None, "{senseless:?}");
        }
        assert_eq!(wait(&HeaderMap::new()), None);
    }

    #[tokio::test]
    async fn a_call_ends_at_its_deadline() {
        let late = within_deadline(Some(Duration::from_millis(20)), std::future::pending::<()>()).await;
        assert_eq!(late.unwrap_err().code(), tonic::Code::DeadlineExceeded);
        within_deadline(Some(Duration::from_secs(60)), async {}).await.unwrap();
    }
}
