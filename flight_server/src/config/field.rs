//! The field of a setting in the configuration, and how it is read and shown.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::time::Duration;

use tonic::codegen::http::Uri;

use super::Config;
use super::units::{parse_size, parse_time, size_text, time_text};
use crate::options::HandOff;

type At<T> = fn(&mut Config) -> &mut T;

/// Each `fn` returns the field itself, so that reading and showing use the same one.
#[derive(Clone, Copy)]
pub enum Field {
    Address(At<SocketAddr>),
    AddressOrNone(At<Option<SocketAddr>>),
    Switch(At<bool>),
    HandOff(At<HandOff>),
    Count(At<usize>),
    /// None is 0.
    CountOrAny(At<Option<usize>>),
    /// 0 is refused; `None` means that it is not set.
    CountOrNone(At<Option<usize>>),
    Size(At<usize>),
    Size64(At<u64>),
    SizeOrNone(At<Option<u64>>),
    Time(At<Duration>),
    /// At least one second: anything shorter would expire before it can be used.
    Seconds(At<Duration>),
    /// None is 0.
    MillisecondsOrAny(At<Option<u64>>),
    Path(At<Option<PathBuf>>),
    /// The URL of a gRPC server.
    UrlOrNone(At<Option<String>>),
    /// One of the words.
    Word(&'static [&'static str], At<String>),
    Text(At<String>),
}

/// The kind of a setting's value, as the table of settings names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Address,
    Switch,
    Count,
    Size,
    Time,
    Path,
    Url,
    Text,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::Address => "address",
            Kind::Switch => "true or false",
            Kind::Count => "number",
            Kind::Size => "size",
            Kind::Time => "time",
            Kind::Path => "path",
            Kind::Url => "URL",
            Kind::Text => "text",
        }
    }

    /// The name in the help of a flag.
    pub fn placeholder(self) -> &'static str {
        match self {
            Kind::Address => "ADDRESS:PORT",
            Kind::Switch => "BOOL",
            Kind::Count => "N",
            Kind::Size => "SIZE",
            Kind::Time => "TIME",
            Kind::Path => "PATH",
            Kind::Url => "URL",
            Kind::Text => "TEXT",
        }
    }
}

impl Field {
    pub fn kind(&self) -> Kind {
        match self {
            Field::Address(_) | Field::AddressOrNone(_) => Kind::Address,
            Field::Switch(_) => Kind::Switch,
            Field::Count(_) | Field::CountOrAny(_) | Field::CountOrNone(_) => Kind::Count,
            Field::Size(_) | Field::Size64(_) | Field::SizeOrNone(_) => Kind::Size,
            Field::Time(_) | Field::Seconds(_) | Field::MillisecondsOrAny(_) => Kind::Time,
            Field::Path(_) => Kind::Path,
            Field::UrlOrNone(_) => Kind::Url,
            Field::Word(..) | Field::Text(_) | Field::HandOff(_) => Kind::Text,
        }
    }

    /// The expected value, for an error.
    pub fn expected(&self) -> String {
        match self.kind() {
            Kind::Address => "an IP address or a host name with a port, such as \"127.0.0.1:31337\",".to_string(),
            Kind::Switch => "true or false".to_string(),
            Kind::Count if matches!(self, Field::CountOrAny(_)) => "a number from 0".to_string(),
            Kind::Count => "a number from 1".to_string(),
            Kind::Size => "a size such as \"512MB\"".to_string(),
            Kind::Time if matches!(self, Field::Seconds(_)) => "a time from \"1s\", such as \"5min\" or \"12h\",".to_string(),
            Kind::Time => "a time such as \"30s\", \"5min\" or \"12h\"".to_string(),
            Kind::Path => "a path".to_string(),
            Kind::Url => "a URL such as \"http://127.0.0.1:4317\"".to_string(),
            Kind::Text => match self {
                Field::Word(words, _) => words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" or "),
                _ => "a text".to_string(),
            },
        }
    }

    /// `None` if the text is not such a value.
    pub fn read(&self, text: &str, config: &mut Config) -> Option<()> {
        match self {
            Field::Address(at) => *at(config) = address(text)?,
            Field::AddressOrNone(at) => *at(config) = if text.is_empty() { None } else { Some(address(text)?) },
            Field::Switch(at) => *at(config) = text.trim().parse().ok()?,
            Field::HandOff(at) => *at(config) = HandOff::parse(text),
            Field::Count(at) => *at(config) = count(text).filter(|count| *count > 0)?,
            Field::CountOrAny(at) => *at(config) = Some(count(text)?).filter(|count| *count > 0),
            Field::CountOrNone(at) => *at(config) = Some(count(text).filter(|count| *count > 0)?),
            Field::Size(at) => *at(config) = usize::try_from(size(text)?).ok()?,
            Field::Size64(at) => *at(config) = size(text)?,
            Field::SizeOrNone(at) => *at(config) = Some(size(text)?),
            Field::Time(at) => *at(config) = parse_time(text)?,
            Field::Seconds(at) => *at(config) = parse_time(text).filter(|time| *time >= Duration::from_secs(1))?,
            Field::MillisecondsOrAny(at) => {
                let time_ms = u64::try_from(parse_time(text)?.as_millis()).ok()?;
                *at(config) = (time_ms > 0).then_some(time_ms);
            }
            Field::Path(at) => *at(config) = Some(text).filter(|text| !text.is_empty()).map(PathBuf::from),
            Field::UrlOrNone(at) => *at(config) = if text.is_empty() { None } else { Some(url(text)?) },
            Field::Word(words, at) => {
                let word = words.iter().find(|word| **word == text)?;
                *at(config) = (*word).to_string();
            }
            Field::Text(at) => *at(config) = text.to_string(),
        }
        Some(())
    }

    /// The value in the form that [`Field::read`] accepts; `None` if it is not set.
    pub fn shown(&self, config: &mut Config) -> Option<String> {
        match self {
            Field::Address(at) => Some(at(config).to_string()),
            Field::AddressOrNone(at) => at(config).map(|address| address.to_string()),
            Field::Switch(at) => Some(at(config).to_string()),
            Field::HandOff(at) => Some(at(config).to_string()).filter(|names| !names.is_empty()),
            Field::Count(at) => Some(at(config).to_string()),
            Field::CountOrAny(at) => Some(at(config).unwrap_or(0).to_string()),
            Field::CountOrNone(at) => at(config).map(|count| count.to_string()),
            Field::Size(at) => Some(size_text(*at(config) as u64)),
            Field::Size64(at) => Some(size_text(*at(config))),
            Field::SizeOrNone(at) => at(config).map(size_text),
            Field::Time(at) | Field::Seconds(at) => Some(time_text(*at(config))),
            Field::MillisecondsOrAny(at) => Some(time_text(Duration::from_millis(at(config).unwrap_or(0)))),
            Field::Path(at) => at(config).as_ref().map(|path| path.display().to_string()),
            Field::UrlOrNone(at) => at(config).clone(),
            Field::Word(_, at) | Field::Text(at) => Some(at(config).clone()).filter(|text| !text.is_empty()),
        }
    }
}

/// Host names such as localhost are resolved.
fn address(text: &str) -> Option<SocketAddr> {
    text.to_socket_addrs().ok()?.next()
}

/// A scheme and an authority only, because gRPC defines the path.
fn url(text: &str) -> Option<String> {
    let url: Uri = text.parse().ok()?;
    let is_known = matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some_and(|host| !host.is_empty());
    (is_known && url.path() == "/" && url.query().is_none()).then(|| text.to_string())
}

fn count(text: &str) -> Option<usize> {
    text.trim().parse().ok()
}

fn size(text: &str) -> Option<u64> {
    parse_size(text).filter(|bytes| *bytes > 0)
}
