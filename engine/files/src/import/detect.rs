//! Detects the format of a file: its content comes first, its name second, and a contradiction is an error.
//!
//! A wrong or missing compression suffix does no harm (a `.csv` that has gzip data is decompressed);
//! a wrong format does harm, because half of the rows of a Parquet file read as CSV help nobody.

mod content;
mod names;

use std::fs::File;
use std::io::Read;
use std::path::Path;

use self::content::{Content, HEAD_BYTES, content_of, has_json_line};
use self::names::{Claim, claim_of};
use super::encoding::{Encoding, Utf8Text};
use super::options::ReadOptions;
use super::paths::Candidate;
use super::source::{Container, Source, decompress};
use super::zip_members::{self, Member};
use common::error::import::ImportError;
use common::file_format::FileFormat;

/// The sources in all candidates. Files of a directory that are no data files are skipped.
pub fn detect(candidates: Vec<Candidate>, options: &ReadOptions) -> Result<Vec<Source>, ImportError> {
    let mut sources = Vec::new();
    let mut passed_over = None;
    for candidate in candidates {
        let Some(root) = candidate.root else {
            sources.extend(detect_file(&candidate.path, options)?);
            continue;
        };
        if is_wanted(&candidate.path, options)? {
            sources.extend(detect_file(&candidate.path, options)?);
        } else {
            passed_over = Some(root);
        }
    }
    match (sources.is_empty(), passed_over) {
        (true, Some(path)) => Err(ImportError::NothingReadable { path }),
        (true, None) => Err(ImportError::NoPaths),
        (false, _) => Ok(sources),
    }
}

/// The error for a walk of a directory that found no file at all.
pub fn nothing_in(paths: &[String]) -> ImportError {
    let path = paths.first().map(Into::into).unwrap_or_default();
    ImportError::NothingReadable { path }
}

/// Files of a directory are accepted by name, or by the magic of a binary format.
fn is_wanted(path: &Path, options: &ReadOptions) -> Result<bool, ImportError> {
    let claim = claim_of(&path.to_string_lossy());
    if let (Some(claimed), Some(requested)) = (claim.format, options.format) {
        return Ok(claimed == requested);
    }
    if claim.format.is_some() || claim.is_zip {
        return Ok(true);
    }
    let content = content_of(&read_head(path, &Container::Plain)?);
    Ok(match content {
        Content::Parquet => options.format.is_none_or(|requested| requested == FileFormat::Parquet),
        Content::ArrowFile => options.format.is_none_or(|requested| requested == FileFormat::Arrow),
        _ => false,
    })
}

fn detect_file(path: &Path, options: &ReadOptions) -> Result<Vec<Source>, ImportError> {
    let size_bytes = std::fs::metadata(path).map_err(|error| ImportError::from_io(path, error))?.len();
    let claim = claim_of(&path.to_string_lossy());
    let container = match content_of(&read_head(path, &Container::Plain)?) {
        Content::Gzip => Container::Gzip,
        Content::Zstd => Container::Zstd,
        Content::Zip => return detect_members(path, &claim, options),
        _ => Container::Plain,
    };
    let file = path.display().to_string();
    let head = in_utf8(read_head(path, &container)?, options);
    let (format, is_stream) = decide(&file, &head, &container, &claim, options)?;
    let encoding = encoding_of(format, options);
    Ok(vec![Source { path: path.to_owned(), container, format, is_stream, delimiter_hint: claim.delimiter, encoding, size_bytes }])
}

/// Every member with the right format is a source; a lone member may have any name.
fn detect_members(path: &Path, outer: &Claim, options: &ReadOptions) -> Result<Vec<Source>, ImportError> {
    if let Some(claimed) = outer.format
        && matches!(claimed, FileFormat::Parquet | FileFormat::Arrow)
    {
        return Err(contradiction(&path.display().to_string(), claimed, "a zip archive"));
    }
    let members = zip_members::list(path)?;
    if members.iter().any(|member| member.name.starts_with("xl/workbook.")) {
        return Err(ImportError::Unsupported {
            file: path.display().to_string(),
            what: "it is an Excel workbook, which Quiver does not read; save its sheet as CSV".to_owned(),
        });
    }
    let is_alone = members.len() == 1;
    let mut sources = Vec::new();
    for member in members {
        let claim = claim_of(&member.name);
        let is_right = match (claim.format, options.format) {
            (Some(claimed), Some(requested)) => claimed == requested,
            (claimed, requested) => claimed.or(requested).is_some(),
        };
        if is_right || is_alone {
            sources.push(detect_member(path, member, claim, options)?);
        }
    }
    if sources.is_empty() {
        return Err(ImportError::Unsupported {
            file: path.display().to_string(),
            what: "the zip archive has no member that is CSV or JSON by its name".to_owned(),
        });
    }
    Ok(sources)
}

fn detect_member(path: &Path, member: Member, claim: Claim, options: &ReadOptions) -> Result<Source, ImportError> {
    let size_bytes = member.compressed_bytes;
    let container = Container::Zip(member.clone());
    let head = in_utf8(read_head(path, &container)?, options);
    let file = format!("{} ({})", path.display(), member.name);
    let (format, _) = decide(&file, &head, &container, &claim, options)?;
    match format {
        FileFormat::Parquet | FileFormat::Arrow => Err(member.refuse_binary(path, format)),
        FileFormat::Csv | FileFormat::Json => {
            let encoding = encoding_of(format, options);
            Ok(Source { path: path.to_owned(), container, format, is_stream: false, delimiter_hint: claim.delimiter, encoding, size_bytes })
        }
    }
}

fn encoding_of(format: FileFormat, options: &ReadOptions) -> Encoding {
    if format == FileFormat::Csv { options.csv.encoding } else { Encoding::Utf8 }
}

/// The head as text; bytes that are none in this encoding stay as they are.
fn in_utf8(head: Vec<u8>, options: &ReadOptions) -> Vec<u8> {
    let is_binary = matches!(content_of(&head), Content::Parquet | Content::ArrowFile | Content::ArrowStream);
    if options.csv.encoding == Encoding::Utf8 || is_binary {
        return head;
    }
    let mut text = Vec::new();
    // The last character may be cut off.
    let read = Utf8Text::new(head.as_slice(), options.csv.encoding).read_to_end(&mut text);
    if read.is_ok() || !text.is_empty() { text } else { head }
}

/// The format, and whether it is an Arrow stream.
fn decide(file: &str, head: &[u8], container: &Container, claim: &Claim, options: &ReadOptions) -> Result<(FileFormat, bool), ImportError> {
    let claimed = options.format.or(claim.format);
    let content = content_of(head);
    let binary = match content {
        Content::Empty => return Err(ImportError::Empty { file: file.to_owned() }),
        Content::Parquet => Some(FileFormat::Parquet),
        Content::ArrowFile | Content::ArrowStream => Some(FileFormat::Arrow),
        _ => None,
    };
    if let Some(format) = binary {
        if claimed.is_some_and(|claimed| claimed != format) {
            return Err(contradiction(file, claimed.unwrap_or(format), content.describe()));
        }
        if *container != Container::Plain && !matches!(container, Container::Zip(_)) {
            return Err(ImportError::Unsupported {
                file: file.to_owned(),
                what: format!("{format} inside gzip or zstd is not supported; unpack it first"),
            });
        }
        return Ok((format, content == Content::ArrowStream));
    }
    match (claimed, content) {
        (Some(FileFormat::Csv), Content::Text | Content::Words) => Ok((FileFormat::Csv, false)),
        (Some(FileFormat::Json), Content::Json) => Ok((FileFormat::Json, false)),
        (Some(FileFormat::Json), Content::Text | Content::Words) if has_json_line(head) => Ok((FileFormat::Json, false)),
        // The user asked for it, not the name: let the CSV reader try.
        (Some(FileFormat::Csv), Content::Json) if options.format.is_some() => Ok((FileFormat::Csv, false)),
        (None, Content::Json) => Ok((FileFormat::Json, false)),
        (None, Content::Text) => Ok((FileFormat::Csv, false)),
        (Some(claimed), content) => Err(contradiction(file, claimed, content.describe())),
        (None, content) => Err(ImportError::UnknownFormat { file: file.to_owned(), found: content.describe().to_owned() }),
    }
}

fn contradiction(file: &str, claimed: FileFormat, found: &str) -> ImportError {
    let hint = match found {
        content::UTF16 => "say so with the encoding utf-16",
        content::TAR => "unpack it first",
        _ => "rename the file to what it is, or fetch it again",
    };
    ImportError::NotWhatItSays { file: file.to_owned(), claimed: claimed.to_string(), found: found.to_owned(), hint: hint.to_owned() }
}

fn read_head(path: &Path, container: &Container) -> Result<Vec<u8>, ImportError> {
    let file = File::open(path).map_err(|error| ImportError::from_io(path, error))?;
    let mut head = Vec::new();
    let read = decompress(file, container, None).and_then(|bytes| bytes.take(HEAD_BYTES).read_to_end(&mut head));
    match read {
        Ok(_) => Ok(head),
        // The data is cut short after its first bytes: the reader of the rows reports that better.
        Err(_) if !head.is_empty() => Ok(head),
        Err(error) if *container == Container::Plain => Err(ImportError::from_io(path, error)),
        Err(error) => Err(ImportError::Unsupported {
            file: path.display().to_string(),
            what: format!("the compressed data is damaged or cut short ({error}); fetch it again"),
        }),
    }
}
